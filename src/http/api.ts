import type { IncomingMessage } from 'node:http';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import helmet from 'helmet';
import type { Caller } from '../clients/caller.ts';
import type { Context, Operation } from '../operations/operation.ts';
import { StoreUnavailable } from '../state/store-unavailable.ts';
import type { Logger } from '../telemetry/log.ts';
import { resultObject, resultOf, success } from './answer.ts';
import { checkBodyHeaders, readBody } from './body.ts';
import { Problem, sendProblem } from './problem.ts';
import { JsonError, parseStrictJson } from './strict-json.ts';

/** Semantic version of the interface (contract §10). */
export const apiVersion = '1.0.0';

export interface ApiOptions {
  readonly operations: readonly Operation[];
  readonly signRoot: string;
  readonly jsonBodyMaxBytes: number;
  readonly log: Logger;
  /** Whether the service stops: new work is refused. */
  draining(): boolean;
  /** The registered client behind a connection. */
  callerOf(request: IncomingMessage): Promise<Caller | undefined>;
  /** Everything else that an operation needs. */
  context(caller: Caller, hasIdempotencyKey: boolean): Context;
}

/** Mounts the table of operations. The order of checks is the contract's (§2): each step below is one of its words. */
export function createApi(options: ApiOptions): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').enable('strict routing');
  app.use(helmet(), (_request, response, next) => {
    response.set('X-API-Version', apiVersion).set('Cache-Control', 'no-store');
    next();
  });
  for (const operation of options.operations) {
    app
      .route(`${options.signRoot}/${operation.path}`)
      .post(async (request, response) => handle(operation, options, request, response))
      .all((_request, response) => {
        sendProblem(response, new Problem(405, 'operations take POST', { headers: { Allow: 'POST' } }));
      });
  }
  app.use((_request, response) => {
    sendProblem(response, new Problem(404, 'nothing is served at this path'));
  });
  app.use((error: unknown, request: Request, response: Response, next: NextFunction) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    if (error instanceof Problem) sendProblem(response, error);
    else if (error instanceof StoreUnavailable) {
      options.log.error('the state store did not serve a request', { path: request.path, reason: error.message });
      sendProblem(response, new Problem(503, 'the state store is not available', { headers: { 'Retry-After': '1' } }));
    } else if (error instanceof URIError) sendProblem(response, new Problem(400, 'the path is not percent-encoded UTF-8'));
    else {
      const { message } = resultOf(error, request.path, options.log);
      sendProblem(response, new Problem(500, message));
    }
  });
  return app;
}

async function handle(operation: Operation, options: ApiOptions, request: Request, response: Response): Promise<void> {
  if (options.draining()) throw new Problem(503, 'the service stops', { headers: { 'Retry-After': '5', Connection: 'close' } });
  const caller = await options.callerOf(request);
  if (caller === undefined) throw new Problem(403, 'this client certificate is not registered');
  if (!caller.roles.has(operation.role)) throw new Problem(403, `this operation needs the role "${operation.role}"`);
  checkBodyHeaders(request, options.jsonBodyMaxBytes);
  const bytes = await readBody(request, options.jsonBodyMaxBytes);
  const hasIdempotencyKey = operation.takesIdempotencyKey && checkIdempotencyKey(request);
  const body = parseBody(bytes);
  const started = performance.now();
  const { requestID } = body;
  const echo = typeof requestID === 'string' && requestID.isWellFormed() ? { requestID } : {};
  let result = success;
  let answer: object = {};
  try {
    answer = await operation.handle(body, options.context(caller, hasIdempotencyKey));
  } catch (error) {
    // Nobody knows a business outcome then.
    if (error instanceof StoreUnavailable) throw error;
    result = resultOf(error, operation.path, options.log);
  }
  options.log.debug('request', {
    operation: operation.path,
    client: caller.name,
    tenant: caller.tenant,
    major: result.major,
    minor: result.minor,
    ms: Math.round(performance.now() - started),
  });
  response
    .status(200)
    .type('application/json')
    .send(JSON.stringify({ result: resultObject(operation.spelling, result), ...echo, ...answer }));
}

/** 8 to 128 visible ASCII characters (contract §10). @throws {Problem} 400 */
function checkIdempotencyKey(request: Request): boolean {
  const values = request.headersDistinct['idempotency-key'];
  if (values === undefined) return false;
  if (values.length !== 1 || !/^[\x21-\x7e]{8,128}$/.test(values[0] ?? '')) {
    throw new Problem(400, 'an Idempotency-Key has 8 to 128 visible ASCII characters, and is given once');
  }
  return true;
}

function parseBody(bytes: Buffer): Readonly<Record<string, unknown>> {
  try {
    return parseStrictJson(bytes);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new Problem(400, error.message, { members: { position: error.position } });
  }
}
