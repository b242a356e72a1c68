import { createServer, type Server } from 'node:http';
import express, { type Express } from 'express';
import helmet from 'helmet';
import type { Config } from '../config/config.ts';
import { EarlyAnswers } from './api/early-answer.ts';
import { Problem, sendProblem } from './problem.ts';
import { apiVersion } from './send.ts';

/** The state of the service. */
export interface Health {
  /** Returns by part why it is not ready; empty if it is. */
  ready(): Promise<Readonly<Record<string, string>>>;
  /** Returns what will make it not ready unless somebody acts, and faults that leave it ready. */
  warnings(): Readonly<Record<string, string>>;
}

/** The source of `/metrics`. */
export interface Exposition {
  exposition(): Promise<{ readonly mediaType: string; readonly text: string }>;
}

/**
 * The listener of the machine's operator (contract §1): plain HTTP on loopback, or on a Unix
 * socket. `mounts` add further paths.
 */
export function createOperationsServer(
  health: Health,
  metrics: Exposition,
  config: Omit<Config['listeners']['operations'], 'console'>,
  mounts: readonly ((app: Express) => void)[] = [],
): Server {
  const app = express();
  const early = new EarlyAnswers();
  app.disable('x-powered-by').use(helmet(), (request, response, next) => {
    // No path reads a body.
    early.discard(request, response);
    response.setHeader('X-API-Version', apiVersion);
    next();
  });
  app.get('/health/live', (_request, response) => {
    response.json({ status: 'live' });
  });
  app.get('/health/ready', async (_request, response) => {
    const faults = await health.ready();
    const ready = Object.keys(faults).length === 0;
    const warnings = health.warnings();
    response.status(ready ? 200 : 503).json({
      status: ready ? 'ready' : 'not ready',
      pid: process.pid,
      ...(ready ? {} : { faults }),
      ...(Object.keys(warnings).length === 0 ? {} : { warnings }),
    });
  });
  app.get('/metrics', async (_request, response) => {
    const { mediaType, text } = await metrics.exposition();
    response.type(mediaType).send(text);
  });
  app.all(['/health/live', '/health/ready', '/metrics'], (_request, response) => {
    sendProblem(response, new Problem(405, 'only GET and HEAD are supported', { headers: { Allow: 'GET, HEAD' } }));
  });
  for (const mount of mounts) mount(app);
  app.use((_request, response) => {
    sendProblem(response, new Problem(404, 'nothing is served at this path'));
  });
  const server = createServer({ keepAliveTimeout: 1000 * config.idleTimeoutSeconds }, app);
  server.maxConnections = config.connectionsMax;
  return server;
}
