import type { IncomingMessage } from 'node:http';
import { currentSender } from '../../telemetry/current-request.ts';
import { Problem } from '../problem.ts';
import { fragmentedPace } from './fragmented-pace.ts';
import { pieceCost, pieceCostBytes, readingTurns } from './reading-turns.ts';

const broken = new WeakMap<IncomingMessage, Problem>();
/** The event of a request that tells of it. */
const event = Symbol('broken');

/** Tells the reader of the body that no more of it will come, and why. */
export function breakRequest(request: IncomingMessage, problem: Problem): void {
  broken.set(request, problem);
  request.emit(event, problem);
}

/** Takes the bytes of a body. */
export interface BodySink {
  /**
   * @throws {Problem} where there is no room for it: then `fail` is called with it, and nothing
   *   more comes
   */
  add(chunk: Buffer): void;
  end(): void;
  /** Called once at most. What comes after it is dropped. */
  fail(error: Error): void;
}

/** Stops reading a body for a while. */
export interface BodyFlow {
  pause(): void;
  resume(): void;
}

/** Bodies that cost less to read do not wait for a turn. */
const turnlessBytes = 128 * 1024;
/**
 * How many pieces of a body may be small: a writer of JSON may send each value as it comes. Where
 * there are more, they have 512 octets each on average. Whatever its content, a piece takes hundreds
 * of octets of memory and a microsecond.
 */
const smallPiecesMax = 4096;
const flows = new WeakMap<IncomingMessage, SharedFlow>();

/**
 * Reads a body that nobody wants, or no longer: long ones in turns. `dropped` receives what each
 * piece that came cost to read, in octets.
 */
export function discardBody(request: IncomingMessage, dropped: (cost: number) => void): BodyFlow {
  const flow = flowOf(request);
  flow.resume();
  request.on('data', (piece: Buffer) => {
    dropped(flow.isFragmented ? Infinity : pieceCost(piece));
  });
  return flow;
}

/** Whether the body came in so many small pieces that no more of it is read. */
export function isFragmented(request: IncomingMessage): boolean {
  return flows.get(request)?.isFragmented === true;
}

function flowOf(request: IncomingMessage): SharedFlow {
  const flow = flows.get(request) ?? new SharedFlow(request);
  flows.set(request, flow);
  return flow;
}

/**
 * Hands the bytes of a body to `sink` as they come; those of long ones in turns. It fails with 413
 * as soon as they are more than the limit, with 400 where the body ends early, and with what
 * `breakRequest` said.
 */
export function receiveBody(
  request: IncomingMessage,
  { maxBytes, tooLarge }: { readonly maxBytes: number; readonly tooLarge: (maxBytes: number) => Problem },
  sink: BodySink,
): BodyFlow {
  const flow = flowOf(request);
  let length = 0;
  let isRefused = false;
  let isFailed = false;
  const fail = (error: unknown): void => {
    if (isFailed) return;
    isFailed = true;
    sink.fail(error instanceof Error ? error : new Error(String(error)));
  };
  let isEnded = false;
  const endedEarly = (): void => {
    // What had come and was not read yet is lost with the connection, even if it was all of it.
    if (!isEnded) fail(new Problem(400, 'the body ended early'));
  };
  request.on('data', (chunk: Buffer) => {
    length += chunk.length;
    if (isFailed || isRefused) return;
    try {
      if (length > maxBytes) throw tooLarge(maxBytes);
      if (flow.isFragmented) {
        isRefused = true;
        setTimeout(fail, fragmentedPace.waitMs(), tooManyPieces());
        return;
      }
      sink.add(chunk);
    } catch (error) {
      fail(error);
    }
  });
  request.on('end', () => {
    isEnded = true;
    if (!isFailed && !isRefused) sink.end();
  });
  request.on('close', endedEarly).on('error', endedEarly);
  const known = broken.get(request);
  if (known !== undefined) fail(known);
  // The client may have left while something else was waited for, such as the disk.
  else if (request.destroyed) endedEarly();
  else request.once(event, fail);
  return flow;
}

/** Reads while neither the reader of the body has paused it nor its turn is over. */
class SharedFlow implements BodyFlow {
  readonly #request: IncomingMessage;
  readonly #sender = currentSender();
  #isPaused = false;
  #isWaiting = false;
  #cost = 0;
  #costOfTurn = 0;
  #smallPieces = 0;

  constructor(request: IncomingMessage) {
    this.#request = request;
    request.on('data', (piece: Buffer) => {
      // A large piece makes up for small ones before it.
      this.#smallPieces = Math.max(0, this.#smallPieces + 1 - piece.length / pieceCostBytes);
      if (this.isFragmented) this.pause();
      this.#took(pieceCost(piece));
    });
  }

  /** Whether so many pieces were small that no more of the body is read. */
  get isFragmented(): boolean {
    return this.#smallPieces > smallPiecesMax;
  }

  #took(cost: number): void {
    this.#cost += cost;
    this.#costOfTurn += cost;
    if (this.#cost <= turnlessBytes || !readingTurns.took(cost) || this.#isWaiting) return;
    this.#isWaiting = true;
    this.#request.pause();
    readingTurns.wait(this.#sender, this.#costOfTurn, () => {
      this.#isWaiting = false;
      this.#costOfTurn = 0;
      this.#goOn();
    });
  }

  pause(): void {
    this.#isPaused = true;
    this.#request.pause();
  }

  resume(): void {
    this.#isPaused = false;
    this.#goOn();
  }

  #goOn(): void {
    if (this.#isPaused || this.#isWaiting || this.isFragmented) return;
    this.#request.resume();
  }
}

/** Returns the length that the headers announce; 0 for none, and for a body in chunks. */
export function announcedLength({ headers }: IncomingMessage): number {
  return Number(headers['content-length'] ?? 0);
}

/** @throws {Problem} 415 for a body with a Content-Encoding; `headers` go with it */
export function refuseContentEncoding(request: IncomingMessage, body: 'body' | 'file', headers: Record<string, string> = {}): void {
  if (request.headers['content-encoding'] === undefined) return;
  throw new Problem(415, `Content-Encoding is not supported: send the ${body} unencoded`, { headers });
}

export function bodyTooLarge(maxBytes: number): Problem {
  return tooMuch('body', maxBytes);
}

export function fileTooLarge(maxBytes: number): Problem {
  return tooMuch('file', maxBytes);
}

function tooManyPieces(): Problem {
  return new Problem(400, `the body comes in more than ${smallPiecesMax} small pieces`, { headers: { Connection: 'close' } });
}

/** The rest is not read, so the connection cannot go on. */
function tooMuch(what: 'body' | 'file', maxBytes: number): Problem {
  return new Problem(413, `the ${what} must not exceed ${maxBytes} bytes`, { headers: { Connection: 'close' } });
}
