import { Gauge, type Registry } from 'prom-client';

/** How much is kept for repeated requests, over all instances. */
export function keptAnswerMetrics(registry: Registry, bytes: () => number): void {
  const gauge = new Gauge({
    name: 'signetd_kept_answers_bytes',
    help: 'Bytes of the answers that are kept for requests with an Idempotency-Key, over all instances; counted once a minute.',
    registers: [registry],
    collect() {
      this.set(bytes());
    },
  });
  void gauge;
}
