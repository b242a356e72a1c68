import { createServer, type Server } from 'node:http';
import type { Config } from '../config/config.ts';
import { Problem, sendProblem } from './problem.ts';

/** Anyone reaches this listener: a request to it is a short path and at most an OCSP or a time-stamp request. */
const maxHeaderBytes = 8 * 1024;
const requestSeconds = 10;

/** The public listener (contract §1): plain HTTP, nothing secret. It serves nothing yet. */
export function createPublicServer(config: NonNullable<Config['listeners']['public']>): Server {
  const server = createServer(
    {
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: 1000 * requestSeconds,
      requestTimeout: 1000 * requestSeconds,
      keepAliveTimeout: 1000 * config.idleTimeoutSeconds,
      connectionsCheckingInterval: 1000,
    },
    (_request, response) => {
      // What comes with the request is not read, so the connection cannot go on.
      sendProblem(response, new Problem(404, 'nothing is served at this path', { headers: { Connection: 'close' } }));
    },
  );
  server.maxConnections = config.connectionsMax;
  return server;
}
