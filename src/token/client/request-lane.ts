import type { TokenRequest } from './token-request.ts';

/** How much of the past counts in the mean: each request a sixteenth. */
const meanWeight = 1 / 16;

/** Requests of one kind that wait for a thread of the host, oldest first, and what the token takes for one. */
export class RequestLane {
  #waiting: TokenRequest[] = [];
  #meanMs: number;

  /** @param firstGuessMs what one takes, until the first answers say it */
  constructor(firstGuessMs: number) {
    this.#meanMs = firstGuessMs;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Milliseconds that the token worked on a request, in the mean of the last ones. */
  get meanMs(): number {
    return this.#meanMs;
  }

  learn(tokenMs: number): void {
    this.#meanMs += (tokenMs - this.#meanMs) * meanWeight;
  }

  push(request: TokenRequest): void {
    this.#waiting.push(request);
  }

  /** For a request that was on its way already when its host ended. */
  pushFront(request: TokenRequest): void {
    this.#waiting.unshift(request);
  }

  take(): TokenRequest | undefined {
    return this.#waiting.shift();
  }

  takeAll(): TokenRequest[] {
    return this.#waiting.splice(0);
  }

  /** Takes out those whose deadline has passed. */
  takeExpired(nowMs: number): TokenRequest[] {
    const expired = this.#waiting.filter(({ deadlineMs }) => deadlineMs <= nowMs);
    if (expired.length > 0) this.#waiting = this.#waiting.filter(({ deadlineMs }) => deadlineMs > nowMs);
    return expired;
  }

  /** How long one that comes now is likely to wait for one of `threads`. */
  expectedWaitMs(threads: number): number {
    return (this.#waiting.length * this.#meanMs) / Math.max(1, threads);
  }
}
