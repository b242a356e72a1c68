import type { Socket } from 'node:net';
import { answerOf, encodeFrame, FrameSplitter, type Answer } from '../wire/frames.ts';
import type { TokenRequest } from './token-request.ts';

/** One connection to one thread of the host. */
export class ThreadLink {
  /** Requests sent and not answered. */
  readonly pending = new Map<number, TokenRequest>();
  readonly #socket: Socket;
  #unsent: Buffer[] = [];
  #slow = 0;
  #heardMs = performance.now();

  /** @param answered is told each answer with its request; `lost`: the connection is of no more use. */
  constructor(socket: Socket, answered: (request: TokenRequest, answer: Answer) => void, lost: () => void) {
    this.#socket = socket;
    const splitter = new FrameSplitter();
    socket.on('data', (chunk) => {
      this.#heardMs = performance.now();
      try {
        for (const frame of splitter.push(chunk)) {
          const answer = answerOf(frame);
          const request = this.pending.get(answer.id);
          if (request === undefined) continue;
          this.pending.delete(answer.id);
          if (request.slow) this.#slow -= 1;
          answered(request, answer);
        }
      } catch {
        lost();
      }
    });
  }

  /** Whether a request that takes long (the generation of a key) is in work: nothing is queued behind it. */
  get slow(): boolean {
    return this.#slow > 0;
  }

  /** Milliseconds for which requests have waited here without any answer. */
  silentMs(nowMs: number): number {
    return this.pending.size === 0 ? 0 : nowMs - this.#heardMs;
  }

  send(request: TokenRequest): void {
    if (this.pending.size === 0) this.#heardMs = performance.now();
    this.pending.set(request.id, request);
    if (request.slow) this.#slow += 1;
    // What one turn of the loop brings goes out in one write, after the turn has read all that came in.
    if (this.#unsent.length === 0) setImmediate(() => this.#flush());
    this.#unsent.push(encodeFrame(request.id, request.code, request.body));
  }

  #flush(): void {
    const [first, ...rest] = this.#unsent;
    this.#unsent = [];
    if (first !== undefined && !this.#socket.destroyed) this.#socket.write(rest.length === 0 ? first : Buffer.concat([first, ...rest]));
  }
}
