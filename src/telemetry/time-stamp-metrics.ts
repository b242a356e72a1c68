import { Counter, Gauge, type Registry } from 'prom-client';

/** What requests to the own time-stamp authority came to, and when its certificate ends. Answers what is to be told of each request. */
export function timeStampMetrics(registry: Registry, certificateEndsMs: () => number | undefined): (outcome: string) => void {
  const requests = new Counter({
    name: 'signetd_time_stamps_total',
    help: 'Requests to the own time-stamp authority, of this service too: granted, a failure of RFC 3161 such as badAlg, or tooMany.',
    labelNames: ['outcome'] as const,
    registers: [registry],
  });
  const expiry = new Gauge({
    name: 'signetd_time_stamp_authority_certificate_expiry_seconds',
    help: 'Seconds until the certificate of the own time-stamp authority expires; negative afterwards.',
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
