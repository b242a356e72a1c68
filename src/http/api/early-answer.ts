import type { IncomingMessage, ServerResponse } from 'node:http';
import { discardBody, isFragmented } from '../body/incoming-body.ts';
import type { Problem } from '../problem.ts';

/** Maximum cost of an unwanted body that is read so that the connection can be kept, in octets. */
const unwantedMaxBytes = 256 * 1024;
/**
 * Limits for reading from connections that end with the answer: cost in octets, time, and number of
 * such connections at a time.
 */
const drainMaxBytes = 32 * 1024 * 1024;
const drainMs = 10_000;
const drainingMax = 64;
/** Time that a client has to read the answer after the service stops reading from it. */
const lingerMs = 1000;

/**
 * Answers to requests whose body nobody reads, or no longer. If much of the body is still to come,
 * the connection ends with the answer: the service closes its half, and for a moment reads and
 * discards what the client still sends (RFC 9112 §9.6). If the connection were closed while bytes
 * arrive, a client that reads only after it has sent everything would lose the answer.
 */
export class EarlyAnswers {
  #draining = 0;
  readonly #discarded = new WeakSet<IncomingMessage>();

  /** Returns the headers of such an answer, which must be sent at once. */
  headers(request: IncomingMessage, response: ServerResponse, { headers }: Problem): Readonly<Record<string, string>> {
    this.discard(request, response);
    if (request.complete) return headers;
    if (headers['Connection'] !== undefined) this.#endWith(request, response);
    return response.shouldKeepAlive ? headers : { ...headers, Connection: 'close' };
  }

  /**
   * Reads what comes of the body, in turns, and ends the connection after this answer if that is
   * much. Must be called before the answer is sent: a body that nobody has begun to read by then is
   * read by Node, as fast as it comes and without end.
   */
  discard(request: IncomingMessage, response: ServerResponse): void {
    if (request.complete || this.#discarded.has(request)) return;
    this.#discarded.add(request);
    if (hasMuchToCome(request)) this.#endWith(request, response);
    let total = 0;
    const end = (): void => {
      this.#end(request);
    };
    const flow = discardBody(request, (cost) => {
      total += cost;
      // A body in chunks shows its size as it comes.
      if (total <= unwantedMaxBytes || !response.shouldKeepAlive) return;
      this.#endWith(request, response);
      flow.pause();
      // After a half-close while it hands over what it has read, TLS hands over nothing more, but
      // goes on reading.
      if (response.writableFinished) setImmediate(end);
      // Earlier answers on this connection may be due still.
      else response.once('finish', end);
    });
  }

  /** Has Node end the connection after this answer. */
  #endWith(request: IncomingMessage, response: ServerResponse): void {
    response.shouldKeepAlive = false;
    request.socket.destroySoon = (): void => {
      this.#end(request);
    };
  }

  /** Ends the connection after this answer: no later request on it is served. */
  #end(request: IncomingMessage): void {
    const { socket } = request;
    if (socket.writableEnded) return;
    const isDrained = this.#draining < drainingMax && !isFragmented(request);
    const close = (): void => void socket.destroy();
    const timer = setTimeout(close, isDrained ? drainMs : lingerMs).unref();
    socket.once('close', () => {
      clearTimeout(timer);
      if (isDrained) this.#draining -= 1;
    });
    socket.end();
    if (!isDrained) {
      socket.pause();
      return;
    }
    this.#draining += 1;
    let total = 0;
    discardBody(request, (cost) => {
      total += cost;
      if (total > drainMaxBytes) socket.destroy();
    });
    // The client that has sent everything reads the answer now.
    const isSent = (): void => {
      socket.pause();
      setTimeout(close, lingerMs).unref();
    };
    if (request.readableEnded) isSent();
    else request.once('end', isSent);
    socket.once('end', close);
  }
}

function hasMuchToCome({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > unwantedMaxBytes;
}

/** Stops reading from the connection for a while. */
export function rest({ socket }: IncomingMessage, ms: number): void {
  if (socket.destroyed) return;
  socket.pause();
  setTimeout(() => {
    if (!socket.destroyed) socket.resume();
  }, ms).unref();
}
