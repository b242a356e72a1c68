import type { RequestListener } from 'node:http';
import type { Server } from 'node:https';
import type { LimitsConfig } from '../../config/limits-config.ts';
import type { MalformedRequests } from '../limits/malformed.ts';

/** How often the time-outs of requests are checked. */
const checkingMs = 500;

/** Time-outs and bounds of the listener (docs/operating.md, Limits). Before it listens. */
export function limitServer(server: Server, limits: LimitsConfig, listener: RequestListener, malformed: MalformedRequests): void {
  server.headersTimeout = 1000 * limits.headersTimeoutSeconds;
  server.requestTimeout = 1000 * limits.requestTimeoutSeconds;
  server.keepAliveTimeout = 1000 * limits.keepAliveTimeoutSeconds;
  server.timeout = 1000 * limits.stalledTimeoutSeconds;
  server.maxRequestsPerSocket = 0;
  // Their bytes are limited; beyond a number Node would leave headers out without a word.
  server.maxHeadersCount = 0;
  // Options of the constructor, read when it starts to listen and with each request.
  Object.assign(server, { connectionsCheckingInterval: checkingMs, requireHostHeader: false });
  malformed.watch(server);
  // A client that expects "100 Continue" gets it when its body is wanted, or another answer.
  server.on('checkContinue', listener);
  server.on('checkExpectation', listener);
}
