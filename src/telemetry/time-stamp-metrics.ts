import { Counter, Gauge, type Registry } from 'prom-client';

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
      else expiry.set(Math.round((endsMs - Date.now()) / 1000));
    },
  });
  return (outcome) => {
    requests.inc({ outcome });
  };
}
