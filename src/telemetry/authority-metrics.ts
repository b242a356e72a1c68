import { Gauge, type Registry, Counter } from 'prom-client';
import { secondsUntil } from './metrics.ts';

/**
 * Expiry of the certificates of certificate authorities. `ends`: milliseconds since epoch, by
 * configured name.
 */
export function authorityMetrics(registry: Registry, ends: () => ReadonlyMap<string, number>): void {
  const made = new Gauge({
    name: 'signetd_authority_certificate_expiry_seconds',
    help: 'Seconds until the certificate of a certificate authority expires; negative afterwards.',
    labelNames: ['authority'] as const,
    registers: [registry],
    collect() {
      made.reset();
      for (const [authority, endsMs] of ends()) made.set({ authority }, secondsUntil(endsMs));
    },
  });
}

/**
 * Expiry of each authority's current CRL. `ends`: milliseconds since epoch, by the authority's
 * name.
 */
export function crlMetrics(registry: Registry, ends: () => ReadonlyMap<string, number>): void {
  const gauge = new Gauge({
    name: 'signetd_crl_expiry_seconds',
    help: 'Seconds until the published CRL of an authority expires; negative afterwards, and if none could be issued.',
    labelNames: ['authority'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const [authority, endsMs] of ends()) this.set({ authority }, secondsUntil(endsMs));
    },
  });
  void gauge;
}

/**
 * Outcomes of OCSP requests, and expiry of the responders' certificates. Returns a function that
 * counts a request.
 */
export function ocspMetrics(registry: Registry, ends: () => ReadonlyMap<string, number>): (answer: { readonly outcome: string }) => void {
  const requests = new Counter({
    name: 'signetd_ocsp_requests_total',
    help: 'OCSP requests by response: signed, or a status of RFC 6960 such as malformedRequest or tryLater.',
    labelNames: ['outcome'] as const,
    registers: [registry],
  });
  const expiry = new Gauge({
    name: 'signetd_ocsp_responder_certificate_expiry_seconds',
    help: "Seconds until the certificate of an authority's OCSP responder expires; negative if there is none. It is renewed automatically.",
    labelNames: ['authority'] as const,
    registers: [registry],
    collect() {
      expiry.reset();
      for (const [authority, endsMs] of ends()) expiry.set({ authority }, secondsUntil(endsMs));
    },
  });
  const counted = new Map<string, Counter.Internal>();
  return ({ outcome }) => {
    const known = counted.get(outcome) ?? requests.labels({ outcome });
    counted.set(outcome, known);
    known.inc();
  };
}

/**
 * Outcomes of requests to the service's own time-stamp authority, and expiry of its certificate.
 * Returns a function that counts a request.
 */
export function timeStampMetrics(registry: Registry, certificateEndsMs: () => number | undefined): (outcome: string) => void {
  const requests = new Counter({
    name: 'signetd_time_stamps_total',
    help: "Requests to the service's own time-stamp authority, including its own requests: granted, a failure of RFC 3161 such as badAlg, or tooMany.",
    labelNames: ['outcome'] as const,
    registers: [registry],
  });
  const expiry = new Gauge({
    name: 'signetd_time_stamp_authority_certificate_expiry_seconds',
    help: "Seconds until the certificate of the service's own time-stamp authority expires; negative afterwards.",
    labelNames: [] as const,
    registers: [registry],
    collect() {
      const endsMs = certificateEndsMs();
      if (endsMs === undefined) expiry.remove();
      else expiry.set(secondsUntil(endsMs));
    },
  });
  return (outcome) => {
    requests.inc({ outcome });
  };
}
