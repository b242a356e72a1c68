/** Rate and capacity of a token bucket. */
export interface BucketRate {
  readonly perSecond: number;
  readonly capacity: number;
}

/** Tolerance for rounding errors of fractional tokens. */
const roundingTolerance = 1e-6;

/**
 * A token bucket: it starts full and is refilled at a rate, and each request takes a token. The
 * rate is read at each use, so that a reload takes effect at once.
 */
export class TokenBucket {
  readonly #rate: () => BucketRate;
  readonly #nowMs: () => number;
  /** As of `#atMs`; negative if tokens were taken in advance. */
  #tokens: number;
  #atMs: number;

  /** `nowMs`: a monotonic clock, in milliseconds. */
  constructor(rate: () => BucketRate, nowMs: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#nowMs = nowMs;
    this.#tokens = rate().capacity;
    this.#atMs = nowMs();
  }

  /** Takes a token and returns whether there was one. */
  take(): boolean {
    return this.takeAhead(1, 0) !== undefined;
  }

  /**
   * Takes tokens in advance and returns the milliseconds until they are available. If that is more
   * than `maxWaitMs`, takes nothing and returns undefined.
   */
  takeAhead(tokens: number, maxWaitMs: number): number | undefined {
    const waitMs = this.waitMs(tokens);
    if (waitMs > maxWaitMs) return undefined;
    this.#tokens -= tokens;
    return waitMs;
  }

  /** Returns the milliseconds until this many tokens are available. */
  waitMs(tokens = 1): number {
    this.#fill();
    const missing = tokens - this.#tokens;
    return missing <= roundingTolerance ? 0 : (missing * 1000) / this.#rate().perSecond;
  }

  /** Returns `waitMs` as a value for Retry-After: whole seconds, at least one. */
  retryAfterSeconds(): number {
    return Math.max(1, Math.ceil(this.waitMs() / 1000 - roundingTolerance));
  }

  /** Checks whether the bucket is full, like a new one. */
  isFull(): boolean {
    this.#fill();
    return this.#tokens >= this.#rate().capacity;
  }

  #fill(): void {
    const { perSecond, capacity } = this.#rate();
    const now = this.#nowMs();
    this.#tokens = Math.min(capacity, this.#tokens + ((now - this.#atMs) * perSecond) / 1000);
    this.#atMs = now;
  }
}
