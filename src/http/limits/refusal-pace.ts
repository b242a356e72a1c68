import { TokenBucket } from '../../service/token-bucket.ts';

/**
 * Refusals take processor time away from served requests: at most one refusal for every two served
 * requests.
 */
const refusalsPerServed = 0.5;
/** Minimum rate of refusals: while little is served, they do no harm. */
const minPerSecond = 50;
const minRestMs = 100;
const maxRestMs = 10_000;
const windowMs = 1000;

/** One token for each millisecond, none in reserve: a refusal takes as many as its duration. */
const milliseconds = { perSecond: 1000, capacity: 0 };

/**
 * Determines how long a refused connection is left unread. A refusal is cheap, but clients that
 * repeat refused requests without a pause would take the time that other requests need. The rate of
 * all refusals is therefore limited, so that most of the time is left for served requests.
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

  /** Returns the milliseconds for which another refused connection is left unread. */
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
