/** A reading of the database server's clock, with the time of this process's monotonic clock. */
export interface ClockReading {
  /** Milliseconds since epoch. */
  readonly serverMs: number;
  /** Time of the reading, as returned by `monotonicMs`. */
  readonly atMs: number;
}

/** Returns the monotonic time, which is the same in all threads of this process. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * Returns the server's time according to a reading; without one, the time of this machine.
 * Milliseconds since epoch.
 */
export function timeBy(reading: ClockReading | undefined): number {
  return reading === undefined ? Date.now() : Math.round(reading.serverMs + monotonicMs() - reading.atMs);
}
