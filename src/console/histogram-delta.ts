import type { MetricValue } from '../telemetry/metric-values.ts';

/** Upper bound of a bucket in seconds to the number of observations up to it, over all labels. */
export type Buckets = ReadonlyMap<number, number>;

/** Adds up a histogram's buckets over all other labels. */
export function bucketsOf(values: readonly MetricValue[]): Buckets {
  const sums = new Map<number, number>();
  for (const { labels, value, metricName } of values) {
    if (metricName?.endsWith('_bucket') !== true || labels['le'] === undefined) continue;
    const bound = labels['le'] === '+Inf' ? Number.POSITIVE_INFINITY : Number(labels['le']);
    sums.set(bound, (sums.get(bound) ?? 0) + value);
  }
  return sums;
}

/**
 * Returns a quantile of what was observed between two readings, by linear interpolation in its
 * bucket, as Prometheus does; null if nothing was observed.
 */
export function quantileBetween(before: Buckets, after: Buckets, quantile: number): number | null {
  const bounds = [...after.keys()].toSorted((a, b) => a - b);
  const counts = bounds.map((bound) => Math.max(0, (after.get(bound) ?? 0) - (before.get(bound) ?? 0)));
  const rank = quantile * (counts.at(-1) ?? 0);
  if (rank === 0) return null;
  const index = counts.findIndex((count) => count >= rank);
  const [lower = 0, upper = 0] = [index === 0 ? 0 : bounds[index - 1], bounds[index]];
  // Nothing is known about values beyond the last bound.
  if (upper === Number.POSITIVE_INFINITY) return lower;
  const below = index === 0 ? 0 : (counts[index - 1] ?? 0);
  return lower + ((upper - lower) * (rank - below)) / Math.max(1, (counts[index] ?? 0) - below);
}
