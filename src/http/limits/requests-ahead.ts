import type { RequestListener } from 'node:http';
import type { Duplex } from 'node:stream';

/**
 * Requests that a client may send on a connection before it has the answers to those before them
 * (RFC 9112 §9.3.2).
 */
const aheadMax = 16;

/**
 * Limits how far a connection makes the listener work ahead: Node reads thousands of requests at
 * once, and their answers wait in memory as long as the client does not read. A connection with too
 * many ends.
 */
export function withFewAhead(listener: RequestListener): RequestListener {
  const unanswered = new WeakMap<Duplex, number>();
  return (request, response) => {
    const { socket } = request;
    const count = (unanswered.get(socket) ?? 0) + 1;
    if (count > aheadMax) socket.destroy();
    // Requests that were read together with the one too many still come here, as do those after a
    // last answer.
    if (socket.destroyed || socket.writableEnded) return;
    unanswered.set(socket, count);
    response.once('close', () => {
      unanswered.set(socket, (unanswered.get(socket) ?? 1) - 1);
    });
    listener(request, response);
  };
}
