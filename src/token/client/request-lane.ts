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

/**
 * Requests of one kind that wait for a thread of the host, and the mean time that the token takes
 * for one. Tenants, and the clients of each, have equal shares of the token's time; those of one
 * client are served in their order.
 */
export class RequestLane {
  readonly #waiting = new FairQueue<TokenRequest>();
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

  /** Notes how long the token worked on a request that was taken from this lane. */
  learn({ sender, expectedMs = this.#meanMs }: Pick<TokenRequest, 'sender' | 'expectedMs'>, tokenMs: number): void {
    this.#waiting.charge(sender, tokenMs - expectedMs);
    this.#meanMs += (tokenMs - this.#meanMs) * meanWeight;
  }

  push(request: TokenRequest): void {
    request.expectedMs ??= this.#meanMs;
    this.#waiting.push(request, request.sender, request.expectedMs);
  }

  /** Queues a request that was in flight when its host ended. */
  pushFront(request: TokenRequest): void {
    this.#waiting.pushFront(request, request.sender, request.expectedMs);
  }

  take(): TokenRequest | undefined {
    return this.#waiting.take();
  }

  takeAll(): TokenRequest[] {
    return this.#waiting.takeWhere(() => true);
  }

  /** Removes and returns the requests whose deadline has passed. */
  takeExpired(nowMs: number): TokenRequest[] {
    return this.#waiting.length === 0 ? [] : this.#waiting.takeWhere(({ deadlineMs }) => deadlineMs <= nowMs);
  }

  /** Number of requests that are served before a new one of this sender. */
  ahead(sender: Sender | undefined): number {
    return this.#waiting.ahead(sender);
  }
}
