import { Counter, Gauge, type Registry } from 'prom-client';

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
      for (const [authority, endsMs] of ends()) expiry.set({ authority }, Math.round((endsMs - Date.now()) / 1000));
    },
  });
  const counted = new Map<string, Counter.Internal>();
  return ({ outcome }) => {
    const known = counted.get(outcome) ?? requests.labels({ outcome });
    counted.set(outcome, known);
    known.inc();
  };
}
