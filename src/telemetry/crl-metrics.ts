import { Gauge, type Registry } from 'prom-client';

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
      for (const [authority, endsMs] of ends()) this.set({ authority }, Math.round((endsMs - Date.now()) / 1000));
    },
  });
  void gauge;
}
