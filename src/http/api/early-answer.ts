import type { IncomingMessage } from 'node:http';
import { discardBody, isFragmented } from '../body/incoming-body.ts';
import type { Problem } from '../problem.ts';

/** Maximum cost of an unwanted body that is read so that the connection can be kept, in octets. */
const unwantedMaxBytes = 256 * 1024;
/**
 * Limits for reading from connections that end with the answer: bytes, time, and number of such
 * connections at a time.
 */
const drainMaxBytes = 32 * 1024 * 1024;
const drainMs = 10_000;
const drainingMax = 64;
/** Time that a client has to read the answer after the service stops reading from it. */
const lingerMs = 1000;

/**
 * Answers that are sent before the body has arrived. If much of the body is still to come, the
 * connection ends with the answer: the service closes its half, and for a moment reads and discards
 * what the client still sends (RFC 9112 §9.6). If the connection were closed while bytes arrive, a
 * client that reads only after it has sent everything would lose the answer.
 */
export class EarlyAnswers {
  #draining = 0;

  /** Returns the headers of such an answer, which must be sent at once. */
  headers(request: IncomingMessage, { headers }: Problem): Readonly<Record<string, string>> {
    if (request.complete) return headers;
    const { socket } = request;
    if (headers['Connection'] === undefined && !hasMuchToCome(request)) {
      this.#endIfMuchComes(request);
      return headers;
    }
    socket.destroySoon = (): void => {
      this.#end(request);
    };
    return { ...headers, Connection: 'close' };
  }

  /** A body in chunks shows its size as it comes. */
  #endIfMuchComes(request: IncomingMessage): void {
    if (request.headers['transfer-encoding'] === undefined) return;
    let total = 0;
    let isEnding = false;
    discardBody(request, (cost) => {
      total += cost;
      if (isEnding || total <= unwantedMaxBytes) return;
      isEnding = true;
      this.#end(request);
    });
  }

  /** Ends the connection after this answer: no later request on it is served. */
  #end(request: IncomingMessage): void {
    const { socket } = request;
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
    request.once('end', () => {
      // The client has sent everything, and reads the answer now.
      socket.pause();
      setTimeout(close, lingerMs).unref();
    });
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
