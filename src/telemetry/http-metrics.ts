import { Counter, Histogram, type Registry, Gauge } from 'prom-client';
import { durationBuckets, secondsUntil } from './metrics.ts';

export interface RequestMetrics {
  /** Records a response. `outcome`: result codes such as `0/0` or `2/202`, or an HTTP status. */
  answered(operation: string, outcome: string, ms: number): void;
  /** Records an answer that is an HTTP problem, whether or not it reached an operation. */
  problem(status: number): void;
}

/** Requests that reached an operation. */
export function requestMetrics(registry: Registry): RequestMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'signetd_requests_total',
    help: 'Requests that reached an operation, by outcome: result codes (major/minor) or the HTTP status of a problem.',
    labelNames: ['operation', 'outcome'] as const,
    registers,
  });
  const duration = new Histogram({
    name: 'signetd_request_duration_seconds',
    help: 'Time from receipt of the request headers until the response is ready to be sent.',
    labelNames: ['operation'] as const,
    buckets: durationBuckets,
    registers,
  });
  const problems = new Counter({
    name: 'signetd_problem_answers_total',
    help: 'Answers of the API that were HTTP problems, by status, including those before any operation.',
    labelNames: ['status'] as const,
    registers,
  });
  for (const status of [403, 429, 503]) problems.inc({ status }, 0);
  return {
    problem(status) {
      problems.inc({ status });
    },
    answered(operation, outcome, ms) {
      requests.inc({ operation, outcome });
      duration.observe({ operation }, ms / 1000);
    },
  };
}

/** A limit of a client or a tenant at which a request was refused. */
interface ReachedLimit {
  /** Undefined: the client is not registered. */
  readonly tenant: string | undefined;
  readonly scope: 'client' | 'tenant';
  readonly limit: string;
}

/** Returns a function that counts requests refused with 429. Tenants are those of the registry. */
export function refusedRequestMetrics(registry: Registry): (reached: ReachedLimit) => void {
  const refused = new Counter({
    name: 'signetd_requests_refused_total',
    help: 'Requests refused with 429, by tenant (- for clients that are not registered), limit, and whether it is that of the client or of its tenant.',
    labelNames: ['tenant', 'scope', 'limit'] as const,
    registers: [registry],
  });
  return ({ tenant = '-', scope, limit }) => {
    refused.inc({ tenant, scope, limit });
  };
}

/** State of the API listener, read at each scrape. */
export interface ListenerGauges {
  connections(): Promise<number>;
  /** Connections without an authenticated registered client. */
  unadmittedConnections(): number;
  /** Milliseconds since the epoch. */
  certificateEndsMs(): number;
  /** Milliseconds since the epoch; undefined if revocation is not checked. */
  revocationListEndsMs(): number | undefined;
}

/**
 * Returns a function that counts refused clients; `code` is one of a few names from OpenSSL, Node
 * or signetd.
 */
export function refusedClientMetrics(registry: Registry): (code: string) => void {
  const refused = new Counter({
    name: 'signetd_clients_refused_total',
    help: 'Connections refused before HTTP, or closed because their certificate was no longer valid, by reason.',
    labelNames: ['reason'] as const,
    registers: [registry],
  });
  return (code) => {
    refused.inc({ reason: code });
  };
}

/** Metrics of the API listener: connections, and expiry of its certificate and CRLs. */
export function listenerMetrics(registry: Registry, gauges: ListenerGauges): void {
  const registers = [registry];
  const connections = new Gauge({
    name: 'signetd_api_connections',
    help: 'Open connections of the API listener.',
    registers,
    async collect() {
      this.set(await gauges.connections());
    },
  });
  const unadmitted = new Gauge({
    name: 'signetd_api_unadmitted_connections',
    help: 'Open connections of the API listener without an authenticated registered client.',
    registers,
    collect() {
      this.set(gauges.unadmittedConnections());
    },
  });
  const certificate = new Gauge({
    name: 'signetd_api_certificate_expiry_seconds',
    help: 'Seconds until the certificate of the API listener expires; negative afterwards.',
    registers,
    collect() {
      this.set(secondsUntil(gauges.certificateEndsMs()));
    },
  });
  const list = new Gauge({
    name: 'signetd_client_crl_expiry_seconds',
    help: 'Seconds until the first CRL of the client CAs expires, after which its clients are refused; NaN if revocation is not checked.',
    registers,
    collect() {
      const endsMs = gauges.revocationListEndsMs();
      this.set(endsMs === undefined ? Number.NaN : secondsUntil(endsMs));
    },
  });
  for (const gauge of [connections, unadmitted, certificate, list]) gauge.set(0);
}

/**
 * Metrics of the public listener. Returns a function that counts a connection closed because of a
 * limit.
 */
export function publicListenerMetrics(registry: Registry): (limit: 'connectionsMax' | 'connectionsMaxPerAddress') => void {
  const closed = new Counter({
    name: 'signetd_public_connections_closed_total',
    help: 'Connections of the public listener that were closed because a limit was reached, by limit.',
    labelNames: ['limit'] as const,
    registers: [registry],
  });
  for (const limit of ['connectionsMax', 'connectionsMaxPerAddress']) closed.inc({ limit }, 0);
  return (limit) => {
    closed.inc({ limit });
  };
}
