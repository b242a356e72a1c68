import type { Registry } from 'prom-client';

/** One value of a metric, or one bucket of a histogram (its label `le`). */
export interface MetricValue {
  readonly labels: Readonly<Record<string, string | number | undefined>>;
  readonly value: number;
  /** Name with the suffix of a histogram's part, such as `_bucket`; absent for other metrics. */
  readonly metricName?: string | undefined;
}

/** Returns the present values of one metric, by its name; empty if there is no such metric. */
export async function metricValues(registry: Registry, name: string): Promise<readonly MetricValue[]> {
  return (await registry.getSingleMetric(name)?.get())?.values ?? [];
}
