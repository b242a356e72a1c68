import { IncomingMessage } from 'node:http';
import { Server, type ServerOptions } from 'node:https';
import { Socket } from 'node:net';

/** What tells of HTTP: the request comes first, or an error and its connection. */
const httpEvents: ReadonlySet<unknown> = new Set(['request', 'checkContinue', 'checkExpectation', 'upgrade', 'connect', 'clientError']);

/**
 * An HTTPS server that asks before each request, whatever its kind, and before each answer to bytes that are none, whether the connection may still
 * speak. No listener hears of one that may not, so that none has to ask.
 */
export class GuardedServer extends Server {
  readonly #maySpeak: (socket: Socket) => boolean;

  /** `maySpeak` ends a connection that may not. */
  constructor(options: ServerOptions, maySpeak: (socket: Socket) => boolean) {
    super(options);
    this.#maySpeak = maySpeak;
  }

  override emit(event: string, ...args: unknown[]): boolean {
    if (httpEvents.has(event)) {
      const [first, second] = args;
      const socket = first instanceof IncomingMessage ? first.socket : second;
      // Handled, as far as Node is concerned.
      if (!(socket instanceof Socket) || !this.#maySpeak(socket)) return true;
    }
    return super.emit(event, ...args);
  }
}
