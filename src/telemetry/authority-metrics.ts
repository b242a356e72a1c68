import { Gauge, type Registry } from 'prom-client';

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
      for (const [authority, endsMs] of ends()) made.set({ authority }, Math.round((endsMs - Date.now()) / 1000));
    },
  });
}
