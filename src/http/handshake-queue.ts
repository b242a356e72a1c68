import type { Server } from 'node:https';
import type { Socket } from 'node:net';

export interface HandshakeLimits {
  readonly handshakesMax: number;
  readonly handshakeTimeoutSeconds: number;
}

/**
 * A handshake costs as much as several requests, all of it on the event loop. Only some are done at the same time; further connections wait for their
 * turn, for as long as a handshake may take. Called before the server listens.
 */
export function queueHandshakes(server: Server, { handshakesMax, handshakeTimeoutSeconds }: HandshakeLimits): void {
  const begin = server.listeners('connection');
  server.removeAllListeners('connection');
  /** With what ends the time that each of them may wait. The handshake itself has a time-out of its own. */
  const waiting = new Map<Socket, NodeJS.Timeout>();
  /** What frees the place of a handshake, by the address of the client: the TLS socket is another object than the one it began with. */
  const running = new Map<string, () => void>();

  const startNext = (): void => {
    for (const [socket, timer] of waiting) {
      if (running.size >= handshakesMax) return;
      waiting.delete(socket);
      clearTimeout(timer);
      start(socket);
    }
  };
  const start = (socket: Socket): void => {
    const key = addressOf(socket);
    const free = (): void => {
      if (running.get(key) !== free) return;
      running.delete(key);
      startNext();
    };
    running.set(key, free);
    socket.once('close', free);
    for (const listener of begin) Reflect.apply(listener, server, [socket]);
  };
  server.on('connection', (socket: Socket) => {
    const timer = setTimeout(() => socket.destroy(), handshakeTimeoutSeconds * 1000).unref();
    waiting.set(socket, timer);
    socket.once('close', () => {
      clearTimeout(timer);
      waiting.delete(socket);
    });
    startNext();
  });
  const done = (socket: Socket): void => {
    running.get(addressOf(socket))?.();
  };
  server.prependListener('secureConnection', done);
  server.prependListener('tlsClientError', (_error, socket) => {
    done(socket);
  });
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress ?? ''} ${remotePort ?? ''}`;
}
