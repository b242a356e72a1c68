import { Server, type IncomingMessage, type RequestListener, type ServerOptions, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import type { Config } from '../../config/config.ts';
import { Places, type Crowd, type Place } from '../limits/connections/places.ts';
import { networks } from '../limits/connections/source-address.ts';
import { Problem, sendProblem } from '../problem.ts';
import { PublicPace } from '../limits/public-pace.ts';
import type { PublicHandler } from './published-pki.ts';
import { withFewAhead } from '../limits/requests-ahead.ts';

/**
 * Anyone reaches this listener: a request to it is a short path and at most an OCSP or a time-stamp
 * request.
 */
const maxHeaderBytes = 8 * 1024;
const requestSeconds = 10;
// What comes with the request is not read, so the connection cannot go on.
const close = { Connection: 'close' };

/** Is told of the listener's connections. */
export interface PublicWitness {
  /** One was closed for want of room. */
  closed(crowd: Crowd): void;
}

/** An HTTP server that asks for each new connection whether it may stay. */
class AskingServer extends Server {
  readonly #mayEnter: (socket: Socket) => boolean;

  constructor(options: ServerOptions, listener: RequestListener, mayEnter: (socket: Socket) => boolean) {
    super(options, listener);
    this.#mayEnter = mayEnter;
  }

  override emit(event: string, ...args: unknown[]): boolean {
    const [first] = args;
    if (event === 'connection' && first instanceof Socket && !this.#mayEnter(first)) return true;
    return super.emit(event, ...args);
  }
}

/**
 * The public listener (contract §1): plain HTTP, nothing secret. The first handler whose request it
 * is answers.
 */
export function createPublicServer(
  config: NonNullable<Config['listeners']['public']>,
  handlers: readonly PublicHandler[],
  witness: PublicWitness,
): Server {
  const pace = new PublicPace(config.requestsPerSecond);
  const shared = networks(config.sharedAddresses);
  const places = new Places({
    connectionsMax: config.connectionsMax,
    unadmittedMax: config.connectionsMax,
    unadmittedMaxPerAddress: config.connectionsMaxPerAddress,
    // Nobody is admitted.
    admittedMax: () => ({ client: 0, tenant: 0 }),
    isShared: (address) => shared.has(address),
    closed: (crowd) => {
      witness.closed(crowd);
    },
  });
  const placeOf = new WeakMap<Socket, Place>();
  const mayEnter = (socket: Socket): boolean => {
    const place = places.enter(socket);
    if (place !== undefined) placeOf.set(socket, place);
    return place !== undefined;
  };
  const touch = (socket: Socket): void => {
    const place = placeOf.get(socket);
    if (place !== undefined) places.touch(place);
  };
  const server = new AskingServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: 1000 * requestSeconds,
      requestTimeout: 1000 * requestSeconds,
      keepAliveTimeout: 1000 * config.idleTimeoutSeconds,
      connectionsCheckingInterval: 1000,
    },
    withFewAhead((request, response) => {
      const { socket } = request;
      touch(socket);
      response.once('close', () => {
        touch(socket);
      });
      const isTaken = pace.take(() => {
        // A client that has gone meanwhile wants no answer.
        if (!response.destroyed) answer(request, response, handlers);
      });
      if (!isTaken) sendProblem(response, new Problem(503, 'too many requests', { headers: { 'Retry-After': '5', ...close } }));
    }),
    mayEnter,
  );
  // A client that does not read the answer loses its connection.
  server.timeout = 1000 * (config.idleTimeoutSeconds + requestSeconds);
  return server;
}

function answer(request: IncomingMessage, response: ServerResponse, handlers: readonly PublicHandler[]): void {
  if (handlers.some((handle) => handle(request, response))) return;
  sendProblem(response, new Problem(404, 'nothing is served at this path', { headers: close }));
}
