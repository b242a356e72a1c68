/** Rate of a token bucket, and the most tokens that it holds. */
export interface BucketRate {
  readonly perSecond: number;
  readonly capacity: number;
}

/** Tokens grow by fractions, which binary numbers round. */
const roundingTolerance = 1e-6;

/**
 * A token bucket: it begins full, is filled at a rate, and each request takes a token. The rate is
 * read at each use, so that one that a reload changes counts at once.
 */
export class TokenBucket {
  readonly #rate: () => BucketRate;
  readonly #nowMs: () => number;
  /** As of `#atMs`; below zero where tokens are taken ahead. */
  #tokens: number;
  #atMs: number;

  /** `nowMs`: a clock that never goes back, in milliseconds. */
  constructor(rate: () => BucketRate, nowMs: () => number = () => performance.now()) {
    this.#rate = rate;
    this.#nowMs = nowMs;
    this.#tokens = rate().capacity;
    this.#atMs = nowMs();
  }

  /** Takes a token, and returns whether there was one. */
  take(): boolean {
    return this.takeAhead(1, 0) !== undefined;
  }

  /**
   * Takes tokens although they may not be there yet. Returns the milliseconds until they are;
   * undefined, and takes nothing, where that is more than `maxWaitMs`.
   */
  takeAhead(tokens: number, maxWaitMs: number): number | undefined {
    const waitMs = this.waitMs(tokens);
    if (waitMs > maxWaitMs) return undefined;
    this.#tokens -= tokens;
    return waitMs;
  }

  /** Milliseconds until so many tokens are there. */
  waitMs(tokens = 1): number {
    this.#fill();
    const missing = tokens - this.#tokens;
    return missing <= roundingTolerance ? 0 : (missing * 1000) / this.#rate().perSecond;
  }

  /** `waitMs` as the header Retry-After has it: whole seconds, at least one. */
  retryAfterSeconds(): number {
    return Math.max(1, Math.ceil(this.waitMs() / 1000 - roundingTolerance));
  }

  /** Checks whether it holds all that it can, as a new one does. */
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
