/**
 * Whether something valid from `from` to `until` is still valid, but in the last fifth of its time.
 */
export function isInLastFifth(from: Date, until: Date, nowMs: number): boolean {
  const leftMs = until.getTime() - nowMs;
  return leftMs > 0 && leftMs * 5 < until.getTime() - from.getTime();
}
