import type { IncomingMessage } from 'node:http';
import express, { type Express, type NextFunction, type Request, type Response } from 'express';
import type { Audit } from '../audit/audit.ts';
import type { AuditDetails, AuditedRequest } from '../audit/audited-request.ts';
import type { Caller } from '../clients/caller.ts';
import type { Context, Operation } from '../operations/operation.ts';
import { StoreUnavailable } from '../state/store-unavailable.ts';
import type { Logger } from '../telemetry/log.ts';
import { TokenBusy } from '../token/token.ts';
import { resultObject, resultOf, success } from './answer.ts';
import { checkBodyHeaders, readBody } from './body.ts';
import { mountDocumentation } from './documentation/mount.ts';
import { Problem, sendProblem } from './problem.ts';
import { recorded, type Ending } from './recorded.ts';
import { send } from './send.ts';
import { JsonError, parseStrictJson } from './strict-json.ts';

export interface ApiOptions {
  readonly operations: readonly Operation[];
  readonly signRoot: string;
  readonly jsonBodyMaxBytes: number;
  readonly documentsMax: number;
  readonly log: Logger;
  /** Whether the service stops: new work is refused. */
  draining(): boolean;
  /** Seconds after which another try is worth while, where requests that come now would not be served in time. */
  busySeconds(): number | undefined;
  /** The registered client behind a connection. */
  callerOf(request: IncomingMessage): Promise<Caller | undefined>;
  readonly audit: Audit;
  /** Everything else that an operation needs. */
  context(caller: Caller, hasIdempotencyKey: boolean, audit: AuditDetails): Context;
}

/** Mounts the table of operations. The order of checks is the contract's (§2): each step below is one of its words. */
export function createApi(options: ApiOptions): Express {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').enable('strict routing');
  for (const operation of options.operations) {
    app
      .route(`${options.signRoot}/${operation.path}`)
      .post(async (request, response) => handle(operation, options, request, response))
      .all((_request, response) => {
        sendProblem(response, new Problem(405, 'operations take POST', { headers: { Allow: 'POST' } }));
      });
  }
  mountDocumentation(app, options);
  app.use((_request, response) => {
    sendProblem(response, new Problem(404, 'nothing is served at this path'));
  });
  app.use((error: unknown, request: Request, response: Response, next: NextFunction) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    if (error instanceof Problem) sendProblem(response, error);
    else if (error instanceof StoreUnavailable) sendProblem(response, storeAway(error, request.path, options.log));
    else if (error instanceof URIError) sendProblem(response, new Problem(400, 'the path is not percent-encoded UTF-8'));
    else {
      const { message } = resultOf(error, request.path, options.log);
      sendProblem(response, new Problem(500, message));
    }
  });
  return app;
}

async function handle(operation: Operation, options: ApiOptions, request: Request, response: Response): Promise<void> {
  if (options.draining()) throw new Problem(503, 'the service stops', { headers: { 'Retry-After': '5', Connection: 'close' } });
  const busy = options.busySeconds();
  if (busy !== undefined) throw overloaded(busy);
  const address = request.socket.remoteAddress;
  const caller = await options.callerOf(request);
  if (caller === undefined) {
    // A connection that was refused may have brought its first request already; it is counted as what it is.
    if (!request.socket.destroyed) options.audit.refuseClient('not registered', address);
    throw new Problem(403, 'this client certificate is not registered');
  }
  if (!caller.roles.has(operation.role)) {
    options.audit.refuseClient(`the role ${operation.role} is missing`, address);
    throw new Problem(403, `this operation needs the role "${operation.role}"`);
  }
  const ending = await recorded(options, { operation, caller, address }, async (audited) =>
    carryOut(operation, options, request, { caller, audited }),
  );
  if (ending instanceof Problem) throw ending;
  const { result, echo, answer } = ending;
  send(response, 200, 'application/json', JSON.stringify({ result: resultObject(operation.spelling, result), ...echo, ...answer }));
}

interface Requesting {
  readonly caller: Caller;
  readonly audited: AuditedRequest;
}

async function carryOut(
  operation: Operation,
  options: ApiOptions,
  request: Request,
  { caller, audited }: Requesting,
): Promise<Ending | Problem> {
  let echo: Ending['echo'] = {};
  try {
    checkBodyHeaders(request, options.jsonBodyMaxBytes);
    const bytes = await readBody(request, options.jsonBodyMaxBytes);
    const hasIdempotencyKey = operation.takesIdempotencyKey && checkIdempotencyKey(request);
    const body = parseBody(bytes);
    const { requestID } = body;
    if (typeof requestID === 'string' && requestID.isWellFormed()) echo = { requestID };
    const context = options.context(caller, hasIdempotencyKey, audited);
    return { result: success, answer: await options.audit.carryOut(audited, async () => operation.handle(body, context)), echo };
  } catch (error) {
    if (error instanceof Problem) return error;
    // Nobody knows a business outcome then.
    if (error instanceof StoreUnavailable) return storeAway(error, operation.path, options.log);
    if (error instanceof TokenBusy) return overloaded(error.retryAfterSeconds);
    return { result: resultOf(error, operation.path, options.log), answer: {}, echo };
  }
}

function storeAway(error: StoreUnavailable, path: string, log: Logger): Problem {
  log.error('the state store did not serve a request', { path, reason: error.message });
  return new Problem(503, 'the state store is not available', { headers: { 'Retry-After': '1' } });
}

function overloaded(retryAfterSeconds: number): Problem {
  return new Problem(503, 'more requests wait for the token than it can serve in time', {
    headers: { 'Retry-After': String(retryAfterSeconds) },
  });
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
