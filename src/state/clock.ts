/**
 * What the clock of a database server said, and when: by the clock of this process that nobody
 * sets.
 */
export interface ClockReading {
  /** Milliseconds since epoch. */
  readonly serverMs: number;
  /** As `monotonicMs`. */
  readonly atMs: number;
}

/** The same for all threads of this process. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

/**
 * The server's time by a reading; without one, that of this machine, which is the only one then.
 * Milliseconds since epoch.
 */
export function timeBy(reading: ClockReading | undefined): number {
  return reading === undefined ? Date.now() : Math.round(reading.serverMs + monotonicMs() - reading.atMs);
}
