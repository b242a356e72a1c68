import { Gauge, type Registry } from 'prom-client';

/** Keys that should be gone from the token and are not. */
export function leftKeyMetrics(registry: Registry, left: () => number): void {
  const gauge = new Gauge({
    name: 'signetd_token_keys_left',
    help: 'Keys that should be gone, and that the token has not destroyed yet; their destruction is tried again.',
    registers: [registry],
    collect() {
      gauge.set(left());
    },
  });
}
