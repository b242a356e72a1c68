import type { Socket } from 'node:net';
import { answerOf, encodeFrame, FrameSplitter, type Answer } from '../wire/frames.ts';
import type { TokenRequest } from './request-lane.ts';

/** One connection to one thread of the host. */
export class ThreadLink {
  /** Requests that were sent and not yet answered. */
  readonly pending = new Map<number, TokenRequest>();
  readonly #socket: Socket;
  #unsent: Buffer[] = [];
  #slow = 0;
  #pendingMs = 0;
  #heardMs = performance.now();

  /**
   * @param answered receives each answer with its request
   * @param lost called when the connection is no longer usable
   */
  constructor(socket: Socket, answered: (request: TokenRequest, answer: Answer) => void, lost: () => void) {
    this.#socket = socket;
    const splitter = new FrameSplitter();
    socket.on('data', (chunk) => {
      this.#heardMs = performance.now();
      try {
        for (const frame of splitter.push(chunk)) {
          const answer = answerOf(frame);
          const request = this.take(answer.id);
          if (request !== undefined) answered(request, answer);
        }
        // What the answers made room for goes out before anybody works on them: the thread is idle.
        this.#flush();
      } catch {
        lost();
      }
    });
  }

  /** Time that the token is expected to take for the pending requests. */
  get pendingMs(): number {
    return this.#pendingMs;
  }

  /** Whether a slow request (key generation) is in progress: nothing is queued behind it. */
  get slow(): boolean {
    return this.#slow > 0;
  }

  /** Whether a request has left, and is not answered yet. */
  get isAtWork(): boolean {
    return this.pending.size > this.#unsent.length;
  }

  /** Milliseconds for which pending requests have been waiting without any answer. */
  silentMs(nowMs: number): number {
    return this.pending.size === 0 ? 0 : nowMs - this.#heardMs;
  }

  /** Removes and returns a pending request, when its answer has come. */
  take(id: number): TokenRequest | undefined {
    const request = this.pending.get(id);
    if (request === undefined) return undefined;
    this.pending.delete(id);
    if (request.slow) this.#slow -= 1;
    this.#pendingMs = this.pending.size === 0 ? 0 : this.#pendingMs - (request.expectedMs ?? 0);
    return request;
  }

  send(request: TokenRequest): void {
    if (this.pending.size === 0) this.#heardMs = performance.now();
    this.pending.set(request.id, request);
    if (request.slow) this.#slow += 1;
    this.#pendingMs += request.expectedMs ?? 0;
    // All frames of one turn of the event loop go out in one write, after that turn has read all
    // input.
    if (this.#unsent.length === 0) setImmediate(() => this.#flush());
    this.#unsent.push(encodeFrame(request.id, request.code, request.body));
  }

  #flush(): void {
    const [first, ...rest] = this.#unsent;
    this.#unsent = [];
    if (first !== undefined && !this.#socket.destroyed) this.#socket.write(rest.length === 0 ? first : Buffer.concat([first, ...rest]));
  }
}
