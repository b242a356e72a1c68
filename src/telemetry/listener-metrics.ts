import { Counter, Gauge, type Registry } from 'prom-client';

/** What is asked of the API listener when somebody scrapes. */
export interface ListenerGauges {
  connections(): Promise<number>;
  /** Connections that no registered client has shown itself on. */
  unadmittedConnections(): number;
  /** Milliseconds since the epoch. */
  certificateEndsMs(): number;
  /** Milliseconds since the epoch; undefined where revocation is not checked. */
  revocationListEndsMs(): number | undefined;
}

const secondsUntil = (momentMs: number): number => Math.round((momentMs - Date.now()) / 1000);

/** Counts clients that were refused. The code is one of a few names of OpenSSL's, Node's and ours. */
export function refusedClientMetrics(registry: Registry): (code: string) => void {
  const refused = new Counter({
    name: 'signetd_clients_refused_total',
    help: 'Connections that were refused before any HTTP, or ended because their certificate was no longer good, by reason.',
    labelNames: ['reason'] as const,
    registers: [registry],
  });
  return (code) => {
    refused.inc({ reason: code });
  };
}

/** Metrics of the API listener: how many are connected, and when its certificate and CRLs expire. */
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
    help: 'Open connections of the API listener on which no registered client has shown itself.',
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
    help: 'Seconds until the first of the CRLs of the client CAs expires, which refuses its clients; NaN where revocation is not checked.',
    registers,
    collect() {
      const endsMs = gauges.revocationListEndsMs();
      this.set(endsMs === undefined ? Number.NaN : secondsUntil(endsMs));
    },
  });
  for (const gauge of [connections, unadmitted, certificate, list]) gauge.set(0);
}

/** Metrics of the public listener. Answers what is to be told of each connection that is closed for want of room. */
export function publicListenerMetrics(registry: Registry): (limit: 'connectionsMax' | 'connectionsMaxPerAddress') => void {
  const closed = new Counter({
    name: 'signetd_public_connections_closed_total',
    help: 'Connections of the public listener that were closed for want of room, by the limit.',
    labelNames: ['limit'] as const,
    registers: [registry],
  });
  return (limit) => {
    closed.inc({ limit });
  };
}
