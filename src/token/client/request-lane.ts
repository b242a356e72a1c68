import type { OperationName, Answer } from '../wire/frames.ts';

/**
 * A request on its way: what is sent, and who waits. Times are milliseconds of the monotonic clock.
 */
export interface TokenRequest {
  readonly id: number;
  readonly operation: OperationName;
  readonly code: number;
  readonly body: Uint8Array;
  readonly queuedAtMs: number;
  readonly deadlineMs: number;
  /** May be sent again after the host died: everything but the creation of a key. */
  readonly repeatable: boolean;
  repeated: boolean;
  /** Keeps its thread busy for long (the generation of a key). */
  readonly slow: boolean;
  settle(answer: Answer): void;
  fail(error: Error): void;
}

/** Weight of each new request in the moving average. */
const meanWeight = 1 / 16;

/**
 * Requests of one kind that wait for a thread of the host, oldest first, and the mean time that the
 * token takes for one.
 */
export class RequestLane {
  #waiting: TokenRequest[] = [];
  #meanMs: number;

  /** @param firstGuessMs assumed time for one request, until the first answers arrive */
  constructor(firstGuessMs: number) {
    this.#meanMs = firstGuessMs;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Moving average of the time that the token works on a request, in milliseconds. */
  get meanMs(): number {
    return this.#meanMs;
  }

  learn(tokenMs: number): void {
    this.#meanMs += (tokenMs - this.#meanMs) * meanWeight;
  }

  push(request: TokenRequest): void {
    this.#waiting.push(request);
  }

  /** Queues a request that was in flight when its host ended. */
  pushFront(request: TokenRequest): void {
    this.#waiting.unshift(request);
  }

  take(): TokenRequest | undefined {
    return this.#waiting.shift();
  }

  takeAll(): TokenRequest[] {
    return this.#waiting.splice(0);
  }

  /** Removes and returns the requests whose deadline has passed. */
  takeExpired(nowMs: number): TokenRequest[] {
    const expired = this.#waiting.filter(({ deadlineMs }) => deadlineMs <= nowMs);
    if (expired.length > 0) this.#waiting = this.#waiting.filter(({ deadlineMs }) => deadlineMs > nowMs);
    return expired;
  }

  /** Expected time that a new request waits for one of `threads`. */
  expectedWaitMs(threads: number): number {
    return (this.#waiting.length * this.#meanMs) / Math.max(1, threads);
  }
}
