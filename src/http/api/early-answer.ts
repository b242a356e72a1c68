import type { IncomingMessage } from 'node:http';
import type { Problem } from '../problem.ts';

/** How much of an unwanted body is read, so that the connection can go on. */
const unwantedMaxBytes = 256 * 1024;
/**
 * How much is read of a connection that ends with the answer, for how long, and of how many
 * connections at a time.
 */
const drainMaxBytes = 32 * 1024 * 1024;
const drainMs = 10_000;
const drainingMax = 64;
/** How long a client has to read the answer once nothing is read from it. */
const lingerMs = 1000;

/**
 * Answers that leave before the body has come. Where much of the body is to come, the connection
 * ends with the answer: its own half is closed, and what the client still sends is read and dropped
 * for a moment (RFC 9112 §9.6). Closing it under bytes that arrive would take the answer from a
 * client that reads only when it has sent everything.
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
    let bytes = 0;
    const count = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes <= unwantedMaxBytes) return;
      request.off('data', count);
      this.#end(request);
    };
    request.on('data', count);
  }

  /** Ends the connection after this answer: no later request on it is served. */
  #end(request: IncomingMessage): void {
    const { socket } = request;
    const isDrained = this.#draining < drainingMax;
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
    let bytes = 0;
    request.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > drainMaxBytes) socket.destroy();
    });
    request.once('end', () => {
      // The client has sent everything, and reads the answer now.
      socket.pause();
      setTimeout(close, lingerMs).unref();
    });
    request.resume();
    socket.once('end', close);
  }
}

function hasMuchToCome({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > unwantedMaxBytes;
}

/** Leaves the connection unread for a while after the answer. */
export function rest({ socket }: IncomingMessage, ms: number): void {
  if (socket.destroyed) return;
  socket.pause();
  setTimeout(() => {
    if (!socket.destroyed) socket.resume();
  }, ms).unref();
}
