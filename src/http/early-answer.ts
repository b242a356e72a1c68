import type { IncomingMessage } from 'node:http';
import type { Problem } from './problem.ts';

/** So much of a body that nobody wants is read, so that the connection can go on; more is not. */
const unwantedMaxBytes = 256 * 1024;
/** How long a client has to take the answer before its connection goes. */
const lingerMs = 1000;

/**
 * The headers of an answer that leaves before the body has come. Where much of the body is to come, the connection ends with the answer. It is
 * closed a moment later: closing it under bytes that arrive would take the answer from the client.
 */
export function earlyAnswerHeaders(request: IncomingMessage, { headers }: Problem): Readonly<Record<string, string>> {
  if (request.complete) return headers;
  if (headers['Connection'] === undefined && !hasMuchToCome(request)) {
    endIfMuchComes(request);
    return headers;
  }
  const { socket } = request;
  socket.destroySoon = (): void => {
    socket.pause();
    socket.end();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
  return { ...headers, Connection: 'close' };
}

function hasMuchToCome({ headers }: IncomingMessage): boolean {
  return Number(headers['content-length'] ?? 0) > unwantedMaxBytes;
}

/** A body in chunks shows its size as it comes. */
function endIfMuchComes(request: IncomingMessage): void {
  if (request.headers['transfer-encoding'] === undefined) return;
  let bytes = 0;
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > unwantedMaxBytes) request.socket.destroy();
  });
}

/** Leaves the connection unread for a while after the answer. */
export function rest({ socket }: IncomingMessage, ms: number): void {
  if (socket.destroyed) return;
  socket.pause();
  setTimeout(() => {
    if (!socket.destroyed) socket.resume();
  }, ms).unref();
}
