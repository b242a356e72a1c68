import { FairQueue } from '../../service/fair-queue.ts';
import type { Sender } from '../../telemetry/current-request.ts';
import type { OperationName, Answer } from '../wire/frames.ts';

/**
 * A request on its way: what is sent, and who waits. Times are milliseconds of the monotonic clock.
 */
export interface TokenRequest {
  readonly id: number;
  readonly operation: OperationName;
  readonly code: number;
  readonly body: Uint8Array;
  /** The client whose request causes it. Undefined: the service itself. */
  readonly sender: Sender | undefined;
  readonly queuedAtMs: number;
  readonly deadlineMs: number;
  /** May be sent again after the host died: everything but the creation of a key. */
  readonly repeatable: boolean;
  repeated: boolean;
  /** Keeps its thread busy for long (the generation of a key). */
  readonly slow: boolean;
  /**
   * Is the rest of what an accepted request has begun: a full queue does not refuse it any more.
   */
  readonly continues: boolean;
  /**
   * Expected time of the token. Undefined until it is queued, where only the mean of all is known.
   */
  expectedMs: number | undefined;
  settle(answer: Answer): void;
  fail(error: Error): void;
}

/** Weight of each new request in the moving average. */
const meanWeight = 1 / 16;

/** Of a request that goes in several messages, so many wait at once (`SignatureMessages`). */
const continuingAtOnce = 2;

/**
 * Requests of one kind that wait for a thread of the host, and the mean time that the token takes
 * for one. Tenants, and the clients of each, have equal shares of the token's time; those of one
 * client are served in their order.
 */
export class RequestLane {
  readonly #waiting = new FairQueue<TokenRequest>();
  /** Those that continue others. */
  #continuing = 0;
  #meanMs: number;
  /** As `#meanMs`, with all that continues a request. */
  #meanWholeMs: number;

  /** @param firstGuessMs assumed time for one request, until the first answers arrive */
  constructor(firstGuessMs: number) {
    this.#meanMs = firstGuessMs;
    this.#meanWholeMs = firstGuessMs;
  }

  get length(): number {
    return this.#waiting.length;
  }

  /** Moving average of the time that the token works on a request, in milliseconds. */
  get meanMs(): number {
    return this.#meanMs;
  }

  /** Notes how long the token worked on a request that was taken from this lane. */
  learn({ sender, continues, expectedMs = this.#meanMs }: TokenRequest, tokenMs: number): void {
    this.#waiting.charge(sender, tokenMs - expectedMs);
    this.#meanMs += (tokenMs - this.#meanMs) * meanWeight;
    this.#meanWholeMs += (continues ? tokenMs : tokenMs - this.#meanWholeMs) * meanWeight;
  }

  push(request: TokenRequest): void {
    request.expectedMs ??= this.#meanMs;
    if (request.continues) this.#continuing += 1;
    this.#waiting.push(request, request.sender, request.expectedMs);
  }

  /** Queues a request that was in flight when its host ended. */
  pushFront(request: TokenRequest): void {
    if (request.continues) this.#continuing += 1;
    this.#waiting.pushFront(request, request.sender, request.expectedMs);
  }

  take(): TokenRequest | undefined {
    const request = this.#waiting.take();
    if (request?.continues === true) this.#continuing -= 1;
    return request;
  }

  takeAll(): TokenRequest[] {
    return this.#takeWhere(() => true);
  }

  /** Removes and returns the requests whose deadline has passed. */
  takeExpired(nowMs: number): TokenRequest[] {
    return this.length === 0 ? [] : this.#takeWhere(({ deadlineMs }) => deadlineMs <= nowMs);
  }

  /**
   * Returns how many requests are served before a new one of this sender, with what continues them
   * later, and how long one of `threads` takes for its part of them.
   */
  ahead(sender: Sender | undefined, threads: number): { readonly requests: number; readonly waitMs: number } {
    if (this.length === 0) return { requests: 0, waitMs: 0 };
    const wholeShare = 1 - (this.#continuing / this.length) * (1 - 1 / continuingAtOnce);
    const requests = Math.ceil(this.#waiting.ahead(sender) * wholeShare);
    return { requests, waitMs: (requests * this.#meanWholeMs) / Math.max(1, threads) };
  }

  #takeWhere(isTaken: (request: TokenRequest) => boolean): TokenRequest[] {
    const taken = this.#waiting.takeWhere(isTaken);
    this.#continuing -= taken.filter(({ continues }) => continues).length;
    return taken;
  }
}
