import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Config } from '../config/config.ts';
import { Problem, sendProblem } from './problem.ts';
import { PublicPace } from './public-pace.ts';
import type { PublicHandler } from './published-pki.ts';
import { withFewAhead } from './requests-ahead.ts';

/** Anyone reaches this listener: a request to it is a short path and at most an OCSP or a time-stamp request. */
const maxHeaderBytes = 8 * 1024;
const requestSeconds = 10;
// What comes with the request is not read, so the connection cannot go on.
const close = { Connection: 'close' };

/** The public listener (contract §1): plain HTTP, nothing secret. The first handler whose request it is answers. */
export function createPublicServer(config: NonNullable<Config['listeners']['public']>, handlers: readonly PublicHandler[]): Server {
  const pace = new PublicPace(config.requestsPerSecond);
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: 1000 * requestSeconds,
      requestTimeout: 1000 * requestSeconds,
      keepAliveTimeout: 1000 * config.idleTimeoutSeconds,
      connectionsCheckingInterval: 1000,
    },
    withFewAhead((request, response) => {
      const isTaken = pace.take(() => {
        // Who has gone meanwhile wants no answer.
        if (!response.destroyed) answer(request, response, handlers);
      });
      if (!isTaken) sendProblem(response, new Problem(503, 'too many requests come', { headers: { 'Retry-After': '5', ...close } }));
    }),
  );
  // Who does not read the answer keeps no connection.
  server.timeout = 1000 * (config.idleTimeoutSeconds + requestSeconds);
  server.maxConnections = config.connectionsMax;
  return server;
}

function answer(request: IncomingMessage, response: ServerResponse, handlers: readonly PublicHandler[]): void {
  if (handlers.some((handle) => handle(request, response))) return;
  sendProblem(response, new Problem(404, 'nothing is served at this path', { headers: close }));
}
