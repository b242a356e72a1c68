import { Gauge, Histogram, type Registry } from 'prom-client';
import { durationBuckets } from './metrics.ts';

/**
 * Metrics of the work threads. Returns a function that notes how long a task waited for a thread,
 * in milliseconds.
 */
export function threadMetrics(registry: Registry, lanes: readonly string[]): (lane: string, ms: number) => void {
  const duration = new Histogram({
    name: 'signetd_work_thread_queue_seconds',
    help: 'Time that tasks waited for a work thread, by lane.',
    labelNames: ['lane'] as const,
    buckets: durationBuckets,
    registers: [registry],
  });
  for (const lane of lanes) duration.zero({ lane });
  return (lane, ms) => {
    duration.observe({ lane }, ms / 1000);
  };
}

/** Shows, by lane, how many tasks wait for a work thread. */
export function threadGauges<Lane extends string>(registry: Registry, lanes: readonly Lane[], waiting: (lane: Lane) => number): void {
  const gauge = new Gauge({
    name: 'signetd_work_thread_waiting_tasks',
    help: 'Tasks that wait for a work thread, by lane.',
    labelNames: ['lane'] as const,
    registers: [registry],
    collect() {
      for (const lane of lanes) this.set({ lane }, waiting(lane));
    },
  });
  for (const lane of lanes) gauge.set({ lane }, 0);
}
