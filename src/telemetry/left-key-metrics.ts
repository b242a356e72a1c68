import { Gauge, type Registry } from 'prom-client';

/** Keys that should have been destroyed but are still on the token. */
export function leftKeyMetrics(registry: Registry, left: () => number): void {
  const gauge = new Gauge({
    name: 'signetd_token_keys_left',
    help: 'Keys that the token should have destroyed but has not; their destruction is retried.',
    registers: [registry],
    collect() {
      gauge.set(left());
    },
  });
}
