import type { Sender } from '../../telemetry/current-request.ts';
import { TokenBusy, TokenUnavailable } from '../token.ts';
import { statuses, type Answer } from '../wire/frames.ts';
import { faultText } from './answers.ts';
import type { HostLink } from './host-link.ts';
import { RequestLane, type TokenRequest } from './request-lane.ts';
import type { ThreadLink } from './thread-link.ts';

/**
 * Work that a thread has when it is given one more request: enough to cover an answer's round trip,
 * and little enough to be fair.
 */
const workAheadMs = 3;
/**
 * A token that takes less than this for a request is quick: reading, writing and waking a thread then
 * cost more than the work itself, so that requests go in batches.
 */
const quickTokenMs = 0.2;
/** Work of a quick token that waits for the thread at work before another one is woken. */
const aloneMs = 1.5;
/** Nothing waits for a thread that has not answered for longer than this. */
const awaitedMs = 3;
/** While one is being worked on, the next one is at hand, however long each takes. */
const minRequestsAtThread = 2;
const maxRequestsAtThread = 32;
const sweepMs = 100;
/** Clients that have used the token within this time are expected again. */
const sharedMs = 10_000;
/**
 * The queue is full for a client that would wait for this share of the deadline, so that every
 * accepted request is served in time.
 */
const fullShare = 0.8;
/** Longer than the margin of a request, so that the host's own deadline comes first. */
const silenceMarginMs = 3000;
const quickGuessMs = 1;
const slowGuessMs = 500;

export interface DispatcherLimits {
  readonly queueMaxRequests: number;
  readonly deadlineMs: number;
  /** How long requests wait while the host is down. */
  readonly outageMs: number;
}

/** Receives, for each answer, how long the request waited and how long the token worked on it. */
export type Observe = (operation: TokenRequest['operation'], status: number, waitedMs: number, tokenMs: number) => void;

/**
 * Distributes requests to the threads of the host, and repeats or fails those that get no answer.
 */
export class Dispatcher {
  readonly #limits: DispatcherLimits;
  readonly #observe: Observe;
  readonly #quick = new RequestLane(quickGuessMs);
  readonly #slow = new RequestLane(slowGuessMs);
  readonly #sweep: NodeJS.Timeout;
  #later: NodeJS.Timeout | undefined;
  #link: HostLink | undefined;
  #awaySinceMs = performance.now();
  #lastSender: Sender | undefined;
  /** When the last request of another client than that of the request before came. */
  #sharedAtMs = -Infinity;

  constructor(limits: DispatcherLimits, observe: Observe) {
    this.#limits = limits;
    this.#observe = observe;
    this.#sweep = setInterval(() => {
      this.#failExpired();
    }, sweepMs).unref();
  }

  get connected(): boolean {
    return this.#link !== undefined && !this.#link.draining;
  }

  /** Requests that wait for a thread. */
  get waiting(): number {
    return this.#quick.length + this.#slow.length;
  }

  /**
   * Seconds to wait before another attempt, if a quick request of this sender would now be refused
   * because the queue is full; otherwise undefined.
   */
  busySeconds(sender: Sender | undefined): number | undefined {
    return this.#busySeconds(this.#quick, this.#link?.threads.length ?? 1, sender);
  }

  /** Whether several clients, or a client and the service itself, have used the token lately. */
  get isShared(): boolean {
    return performance.now() - this.#sharedAtMs < sharedMs;
  }

  /** @throws {TokenUnavailable | TokenBusy} */
  add(request: TokenRequest): void {
    if (this.#link === undefined && performance.now() - this.#awaySinceMs > this.#limits.outageMs) {
      throw new TokenUnavailable('the token host has been down for too long', { nothingDone: true });
    }
    const threads = this.#link?.threads.length ?? 1;
    const lane = this.#laneOf(request);
    const busy = request.continues ? undefined : this.#busySeconds(lane, request.slow ? slowAtOnce(threads) : threads, request.sender);
    if (busy !== undefined) throw new TokenBusy(busy);
    if (request.sender?.client !== this.#lastSender?.client) this.#sharedAtMs = performance.now();
    this.#lastSender = request.sender;
    lane.push(request);
    this.#dispatch();
  }

  connect(link: HostLink): void {
    this.#link = link;
    this.#dispatch();
  }

  /**
   * The host is gone: requests in flight are sent once more to the next host if they are
   * repeatable.
   */
  disconnect(unanswered: readonly TokenRequest[]): void {
    this.#link = undefined;
    this.#awaySinceMs = performance.now();
    for (const request of unanswered.toReversed()) this.#again(request, 'the token host ended while it worked on the request');
  }

  /**
   * Sends nothing new to a host that is shutting down, and closes the link when the host has
   * answered all pending requests.
   */
  drain(link: HostLink): void {
    link.draining = true;
    if (link.idle) link.close();
  }

  answered(link: HostLink, request: TokenRequest, answer: Answer): void {
    const tokenMs = answer.tokenMicroseconds / 1000;
    this.#laneOf(request).learn(request, tokenMs);
    this.#observe(request.operation, answer.status, Math.max(0, performance.now() - request.queuedAtMs - tokenMs), tokenMs);
    if (answer.status === statuses.lost) {
      // The host's farewell comes on another socket: this answer may arrive before it.
      link.draining = true;
      this.#again(request, faultText(answer.body));
    } else {
      request.settle(answer);
    }
    if (link.draining && link.idle) link.close();
    else this.#dispatch();
  }

  failAll(error: Error): void {
    for (const request of [...this.#quick.takeAll(), ...this.#slow.takeAll()]) request.fail(error);
  }

  close(): void {
    clearInterval(this.#sweep);
    clearTimeout(this.#later);
    this.failAll(new TokenUnavailable('the service is shutting down'));
  }

  #again(request: TokenRequest, reason: string): void {
    if (request.repeatable && !request.repeated) {
      request.repeated = true;
      this.#laneOf(request).pushFront(request);
    } else {
      request.fail(new TokenUnavailable(reason));
    }
  }

  #dispatch(): void {
    const link = this.#link;
    if (link === undefined || link.draining) return;
    // All threads never make keys at once: signatures would have to wait.
    while (this.#slow.length > 0 && link.threads.filter(({ slow }) => slow).length < slowAtOnce(link.threads.length)) {
      const thread = leastBusy(link.threads, () => true);
      const request = thread === undefined ? undefined : this.#slow.take();
      if (thread === undefined || request === undefined) break;
      thread.send(request);
    }
    if (this.#quick.meanMs < quickTokenMs) this.#dispatchBatches(link.threads);
    else this.#dispatchOneByOne(link.threads);
  }

  #dispatchOneByOne(threads: readonly ThreadLink[]): void {
    while (this.#quick.length > 0) {
      const thread = leastBusy(threads, hasRoom);
      const request = thread === undefined ? undefined : this.#quick.take();
      if (thread === undefined || request === undefined) break;
      thread.send(request);
    }
  }

  /**
   * Gives a thread that is not at work one batch: what comes later waits for its answers, unless
   * that is much, or the answers do not come.
   */
  #dispatchBatches(threads: readonly ThreadLink[]): void {
    const now = performance.now();
    for (const thread of threads) {
      if (thread.slow || thread.isAtWork) continue;
      const isAnswerNear = threads.some((other) => !other.slow && other.isAtWork && other.silentMs(now) < awaitedMs);
      if (isAnswerNear && this.#quick.length * this.#quick.meanMs < aloneMs) {
        this.#lookAgain();
        return;
      }
      while (hasRoom(thread)) {
        const request = this.#quick.take();
        if (request === undefined) return;
        thread.send(request);
      }
    }
  }

  /** Dispatches again when the answers that requests wait for are late. */
  #lookAgain(): void {
    if (this.#quick.length === 0) return;
    this.#later ??= setTimeout(() => {
      this.#later = undefined;
      this.#dispatch();
    }, awaitedMs).unref();
  }

  #failExpired(): void {
    const now = performance.now();
    const expired = [...this.#quick.takeExpired(now), ...this.#slow.takeExpired(now)];
    for (const request of expired) request.fail(new TokenUnavailable(`the token did not answer ${request.operation} in time`));
    for (const { pending } of this.#link?.threads ?? []) {
      for (const request of pending.values()) {
        if (request.deadlineMs <= now) request.fail(new TokenUnavailable(`the token did not answer ${request.operation} in time`));
      }
    }
    // The host ends itself at its own deadline. If it does not, because it is stopped or its
    // answers get lost, the link is closed.
    if (this.#link?.threads.some((thread) => thread.silentMs(now) > this.#limits.deadlineMs + silenceMarginMs) === true) this.#link.close();
    if (this.#link === undefined && now - this.#awaySinceMs > this.#limits.outageMs) {
      this.failAll(new TokenUnavailable('the token host has been down for too long'));
    }
  }

  #busySeconds(lane: RequestLane, threads: number, sender: Sender | undefined): number | undefined {
    const { requests, waitMs } = lane.ahead(sender, threads);
    const full = requests >= this.#limits.queueMaxRequests || waitMs > this.#limits.deadlineMs * fullShare;
    // By then half of those that are served before have been.
    return full ? Math.max(1, Math.ceil(waitMs / 2000)) : undefined;
  }

  #laneOf(request: TokenRequest): RequestLane {
    return request.slow ? this.#slow : this.#quick;
  }
}

/** Maximum number of threads that make keys at the same time. */
function slowAtOnce(threads: number): number {
  return Math.max(1, threads - 1);
}

/** Whether a thread may be given one more request. */
function hasRoom({ pending, pendingMs }: ThreadLink): boolean {
  return pending.size < minRequestsAtThread || (pending.size < maxRequestsAtThread && pendingMs <= workAheadMs);
}

/** Returns the thread with the fewest requests that is allowed, and is not making a key. */
function leastBusy(threads: readonly ThreadLink[], isAllowed: (thread: ThreadLink) => boolean): ThreadLink | undefined {
  let best: ThreadLink | undefined;
  for (const thread of threads) {
    if (thread.slow || !isAllowed(thread)) continue;
    if (best === undefined || thread.pending.size < best.pending.size) best = thread;
  }
  return best;
}
