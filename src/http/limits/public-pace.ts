import { TokenBucket } from '../../service/token-bucket.ts';

/** A request that would wait longer is refused. */
const longestWaitMs = 2000;
const burstSeconds = 0.1;

/**
 * Rate limit of the requests of strangers, all together: what comes faster waits for its turn, in
 * order, so that a flood waits for itself and not the callers of the API. A tenth of a second's
 * share may come at once.
 */
export class PublicPace {
  readonly #bucket: TokenBucket;
  readonly #waiting: { readonly atMs: number; readonly begin: () => void }[] = [];
  #isTimed = false;

  constructor(requestsPerSecond: number) {
    const rate = { perSecond: requestsPerSecond, capacity: 1 + burstSeconds * requestsPerSecond };
    this.#bucket = new TokenBucket(() => rate);
  }

  /** Begins now or in its turn; false where that would be too late. */
  take(begin: () => void): boolean {
    const waitMs = this.#bucket.takeAhead(1, longestWaitMs);
    if (waitMs === undefined) return false;
    if (waitMs === 0 && this.#waiting.length === 0) {
      begin();
      return true;
    }
    this.#waiting.push({ atMs: performance.now() + waitMs, begin });
    if (!this.#isTimed) this.#beginAfter(waitMs);
    return true;
  }

  #beginDue(): void {
    const now = performance.now();
    const count = this.#waiting.findIndex(({ atMs }) => atMs > now);
    for (const { begin } of this.#waiting.splice(0, count < 0 ? this.#waiting.length : count)) begin();
    const [next] = this.#waiting;
    this.#isTimed = next !== undefined;
    if (next !== undefined) this.#beginAfter(next.atMs - now);
  }

  #beginAfter(waitMs: number): void {
    this.#isTimed = true;
    setTimeout(() => {
      this.#beginDue();
    }, waitMs);
  }
}
