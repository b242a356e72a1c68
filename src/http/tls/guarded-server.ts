import { IncomingMessage } from 'node:http';
import { Server, type ServerOptions } from 'node:https';
import { Socket } from 'node:net';
import type { SecureContextOptions } from 'node:tls';
import { boundPeers } from '../../service/bounded-context.ts';

/** Events of HTTP: their first argument is the request, or an error before the connection. */
const httpEvents: ReadonlySet<unknown> = new Set(['request', 'checkContinue', 'checkExpectation', 'upgrade', 'connect', 'clientError']);

/** Decides whether a connection goes on. */
export interface Guards {
  /** Whether a new connection may stay; it is closed where not. */
  mayEnter(socket: Socket): boolean;
  /** Whether a connection may speak HTTP; it is ended where not. */
  maySpeak(socket: Socket): boolean;
  /** Told of a connection that has sent nothing for as long as its handshake might have taken. */
  saysNothing(socket: Socket): void;
}

/**
 * An HTTPS server that asks for each new connection, before each request, whatever its kind, and
 * before each answer to bytes that are none, whether it may go on. No listener hears of one that
 * may not, so that none has to ask. TLS begins with the first byte: a connection that says nothing
 * costs little more than its descriptor.
 */
export class GuardedServer extends Server {
  readonly #guards: Guards;
  readonly #handshakeTimeoutMs: number;

  constructor(options: ServerOptions & { readonly handshakeTimeout: number }, guards: Guards) {
    super(options);
    this.#guards = guards;
    this.#handshakeTimeoutMs = options.handshakeTimeout;
  }

  /** Node calls it too, from the constructor. The certificates of clients have bounds. */
  override setSecureContext(options: SecureContextOptions): void {
    super.setSecureContext(options);
    // Node gives no other access to the context that it has just made.
    const context: unknown = Reflect.get(this, '_sharedCreds');
    boundPeers(context);
  }

  override emit(event: string, ...args: unknown[]): boolean {
    const [first, second] = args;
    if (event === 'connection' && first instanceof Socket) {
      if (this.#guards.mayEnter(first)) this.#atFirstByte(first, () => super.emit(event, first));
      return true;
    }
    if (httpEvents.has(event)) {
      const socket = first instanceof IncomingMessage ? first.socket : second;
      // Handled, as far as Node is concerned.
      if (!(socket instanceof Socket) || !this.#guards.maySpeak(socket)) return true;
    }
    return super.emit(event, ...args);
  }

  #atFirstByte(socket: Socket, begin: () => void): void {
    const ended = (): void => void socket.destroy();
    const late = (): void => {
      this.#guards.saysNothing(socket);
      socket.destroy();
    };
    socket.setTimeout(this.#handshakeTimeoutMs, late).on('error', ended);
    socket.once('readable', () => {
      socket.setTimeout(0).off('timeout', late).off('error', ended);
      // Nothing to read is the end.
      if (socket.readableLength === 0) socket.destroy();
      else begin();
    });
  }
}
