const range = 2 ** 31;

/**
 * Milliseconds of the machine's monotonic clock, in 31 bits, never 0. All threads of a process read
 * the same clock; `performance.timeOrigin` differs by thread and moves with the wall clock.
 */
export function callClockMs(): number {
  // Not taken apart as a list, which is slow without JIT.
  const now = process.hrtime();
  return Math.max(1, (now[0] * 1000 + Math.trunc(now[1] / 1e6)) % range);
}

/**
 * Milliseconds from one reading to a later one. Negative if the other thread read its clock after
 * this one.
 */
export function elapsedMs(startedMs: number, nowMs: number): number {
  return ((nowMs - startedMs) << 1) >> 1;
}
