import { TokenBucket } from '../../service/token-bucket.ts';

/**
 * Refusals take their time from the requests that are served: for two of those there is at most one
 * refusal.
 */
const refusalsPerServed = 0.5;
/** Where little is served, refusals cost little. */
const minPerSecond = 50;
const minRestMs = 100;
const maxRestMs = 10_000;
const windowMs = 1000;

/** One token for each millisecond, and none in store: a refusal takes as many as it is to last. */
const milliseconds = { perSecond: 1000, capacity: 0 };

/**
 * How long a connection that was refused is left unread. A refusal is cheap, and still clients that
 * repeat it without a pause would take the time that others' requests need: all of them together
 * are answered at a pace that leaves most of the time to the requests that are served.
 */
export class RefusalPace {
  readonly #nowMs: () => number;
  readonly #bucket: TokenBucket;
  #windowFromMs: number;
  #served = 0;
  #servedPerSecond = 0;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#nowMs = nowMs;
    this.#bucket = new TokenBucket(() => milliseconds, nowMs);
    this.#windowFromMs = nowMs();
  }

  served(): void {
    this.#roll();
    this.#served += 1;
  }

  /** Milliseconds of rest for one more refused connection. */
  restMs(): number {
    this.#roll();
    const perSecond = Math.max(minPerSecond, refusalsPerServed * this.#servedPerSecond);
    return Math.max(minRestMs, this.#bucket.takeAhead(1000 / perSecond, maxRestMs) ?? maxRestMs);
  }

  #roll(): void {
    const elapsed = this.#nowMs() - this.#windowFromMs;
    if (elapsed < windowMs) return;
    this.#servedPerSecond = (1000 * this.#served) / elapsed;
    this.#served = 0;
    this.#windowFromMs += elapsed;
  }
}
