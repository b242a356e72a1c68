import { TokenBucket } from '../../service/token-bucket.ts';

/** How many refusals of bodies in small pieces are answered in a second. */
const perSecond = 4;
/** Until then the connection stays open, and counts among those of its client. */
const maxWaitMs = 5000;

/**
 * How long the refusal of a body in small pieces waits. Its first pieces have cost milliseconds by
 * the time it is refused, so that a client could take all of the event loop with one connection
 * after the other.
 */
export class FragmentedPace {
  readonly #bucket: TokenBucket;

  constructor(nowMs: () => number = () => performance.now()) {
    this.#bucket = new TokenBucket(() => ({ perSecond, capacity: 1 }), nowMs);
  }

  /** Returns the milliseconds for which another refusal waits. */
  waitMs(): number {
    return this.#bucket.takeAhead(1, maxWaitMs) ?? maxWaitMs;
  }
}

/** That of this process, which has one event loop. */
export const fragmentedPace = new FragmentedPace();
