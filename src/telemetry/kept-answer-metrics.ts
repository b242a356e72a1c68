import { Gauge, type Registry } from 'prom-client';

/** Size of the responses kept for repeated requests, over all instances. */
export function keptAnswerMetrics(registry: Registry, bytes: () => number): void {
  const gauge = new Gauge({
    name: 'signetd_kept_answers_bytes',
    help: 'Bytes of the responses kept for requests with an Idempotency-Key, over all instances; updated once a minute.',
    registers: [registry],
    collect() {
      this.set(bytes());
    },
  });
  void gauge;
}
