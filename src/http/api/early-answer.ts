import type { IncomingMessage } from 'node:http';
import type { Problem } from '../problem.ts';

/** So much of a body that nobody wants is read, so that the connection can go on. */
const unwantedMaxBytes = 256 * 1024;
/** So much is read of a connection that ends with the answer, and for so long at most; of so many connections at a time. */
const drainMaxBytes = 32 * 1024 * 1024;
const drainMs = 10_000;
const drainingMax = 64;
/** How long a client has to take the answer where nothing is read any more. */
const lingerMs = 1000;

/**
 * Answers that leave before the body has come. Where much of the body is to come, the connection ends with the answer: its own half is closed, and what
 * the client still sends is read and dropped for a moment (RFC 9112 §9.6). Closing it under bytes that arrive would take the answer from a client that
 * reads only when it has sent everything.
 */
export class EarlyAnswers {
  #draining = 0;

  /** The headers of such an answer, which is to be sent at once. */
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

  /** No request that comes after this one is worked on: the connection takes no answer any more. */
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
      // It has sent everything, and reads.
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
