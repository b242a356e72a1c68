import type { IncomingMessage } from 'node:http';
import type { Problem } from './problem.ts';

/** So much of a body that nobody wants is read, so that the connection can go on; more is not. */
const unwantedMaxBytes = 256 * 1024;
/** How long a client has to take the answer before its connection goes. */
const lingerMs = 1000;
/** A client that comes back before it was told to waits so long for its next answer. */
const restMaxMs = 500;

/**
 * The headers of an answer that leaves before the body has come. Where much of the body is to come, the connection ends with the answer. It is
 * closed a moment later: closing it under bytes that arrive would take the answer from the client.
 */
export function earlyAnswerHeaders(request: IncomingMessage, { headers }: Problem): Readonly<Record<string, string>> {
  if (request.complete || (headers['Connection'] === undefined && !hasMuchToCome(request))) return headers;
  const { socket } = request;
  socket.destroySoon = (): void => {
    socket.pause();
    socket.end();
    setTimeout(() => socket.destroy(), lingerMs).unref();
  };
  return { ...headers, Connection: 'close' };
}

function hasMuchToCome({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > unwantedMaxBytes;
}

/**
 * After an answer with Retry-After the connection is not read for a moment. Refusals are cheap, and still a client that repeats them without a pause
 * would take the time that others' requests need.
 */
export function rest({ socket }: IncomingMessage, { headers }: Problem): void {
  const seconds = Number(headers['Retry-After'] ?? 0);
  if (seconds === 0 || socket.destroyed) return;
  socket.pause();
  setTimeout(
    () => {
      if (!socket.destroyed) socket.resume();
    },
    Math.min(restMaxMs, seconds * 1000),
  ).unref();
}
