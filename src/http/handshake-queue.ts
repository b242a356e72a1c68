import type { Server } from 'node:https';
import type { Socket } from 'node:net';

export interface HandshakeLimits {
  readonly handshakesMax: number;
  readonly handshakeTimeoutSeconds: number;
}

/**
 * A handshake costs as much as several requests, all of it on the event loop. Only some are done at the same time; further connections wait for their
 * turn, and one that is not done in time goes. Called before the server listens.
 */
export function queueHandshakes(server: Server, { handshakesMax, handshakeTimeoutSeconds }: HandshakeLimits): void {
  const begin = server.listeners('connection');
  server.removeAllListeners('connection');
  const waiting = new Set<Socket>();
  /** What frees the place of a handshake, by the address of the client: the TLS socket is another object than the one it began with. */
  const running = new Map<string, () => void>();

  const startNext = (): void => {
    for (const socket of waiting) {
      if (running.size >= handshakesMax) return;
      waiting.delete(socket);
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
    const key = addressOf(socket);
    const timer = setTimeout(() => {
      socket.destroy();
      running.get(key)?.();
    }, handshakeTimeoutSeconds * 1000).unref();
    const stop = (): void => {
      clearTimeout(timer);
      timers.delete(key);
    };
    timers.set(key, stop);
    socket.once('close', () => {
      waiting.delete(socket);
      stop();
    });
    waiting.add(socket);
    startNext();
  });
  const timers = new Map<string, () => void>();
  const done = (socket: Socket): void => {
    const key = addressOf(socket);
    timers.get(key)?.();
    running.get(key)?.();
  };
  server.prependListener('secureConnection', done);
  server.prependListener('tlsClientError', (_error, socket) => {
    done(socket);
  });
}

function addressOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress ?? ''} ${remotePort ?? ''}`;
}
