import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import express, { type NextFunction, type Request, type Response } from 'express';
import type { Audit } from '../../audit/audit.ts';
import type { AuditDetails, AuditedRequest } from '../../audit/audited-request.ts';
import type { Admission } from '../../clients/admission.ts';
import type { Caller, Role } from '../../clients/caller.ts';
import type { Deliveries } from '../../documents/deliveries.ts';
import { jsonPieces } from '../../documents/long-answer.ts';
import type { Publications } from '../../documents/publications.ts';
import type { TransferStore } from '../../documents/transfer/transfer-store.ts';
import type { KeptAnswers } from '../../idempotency/kept-answers.ts';
import { withFewDocuments } from '../../operations/limit-sizes.ts';
import type { Context, Operation } from '../../operations/operation.ts';
import { asRequest } from '../../telemetry/current-request.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { RequestMetrics } from '../../telemetry/http-metrics.ts';
import type { Ticket } from '../limits/request-quota.ts';
import { admitted } from './admitted.ts';
import { resultObject, success } from './answer.ts';
import { answerError } from './answer-error.ts';
import { parseBigJson, type SharedBody } from '../json/big-json.ts';
import { checkBodyHeaders, readBody } from '../body/body.ts';
import { mountDocumentation } from '../documentation/mount.ts';
import { endingOf, overloaded } from './ending-of.ts';
import { mountFiles } from '../files/mount.ts';
import type { Guard } from './guard.ts';
import { JsonError, TooManyValues } from '../json/json-scanner.ts';
import { Problem, sendProblem } from '../problem.ts';
import { auditedRequestId, recorded, type Ending } from './recorded.ts';
import { idempotencyKeyOf, repeatable } from './repeatable.ts';
import { checkServing, reach, stillAdmitted } from './reach.ts';
import { limitTime } from './request-time.ts';
import { RequestRuns } from './request-runs.ts';
import { checkShape } from './request-shape.ts';
import { sendPieces } from '../send.ts';
import { parseStrictJson } from '../json/strict-json.ts';

export interface ApiOptions {
  readonly operations: readonly Operation[];
  readonly signRoot: string;
  readonly ftmRoot: string;
  /** The file transfer store, where there is one. */
  readonly transfers?: TransferStore | undefined;
  readonly jsonBodyMaxBytes: number;
  /** What it takes of whom. */
  readonly guard: Guard;
  readonly documentsMax: number;
  readonly log: Logger;
  /** Whether the service stops: new work is refused. */
  draining(): boolean;
  /** Seconds after which another try is worth while, where requests that come now would not be served in time. */
  busySeconds(): number | undefined;
  /** The registered client behind a connection. */
  callerOf(request: IncomingMessage): Promise<Caller | undefined>;
  /** A request of that client on its way: what takes its registration away waits for it. `cut` ends its connection. */
  admit(caller: Caller, role: Role, cut: () => void): Admission;
  readonly audit: Audit;
  readonly metrics?: RequestMetrics;
  readonly keptAnswers: Pick<KeptAnswers, 'once'>;
  readonly publications: Publications;
  /** Everything else that an operation needs. */
  context(caller: Caller, audit: AuditDetails, deliveries: Deliveries): Context;
}

/**
 * Mounts the table of operations. The order of checks is the contract's (§2): each step below is one of its words. A request goes by what
 * `current` gives when it comes, whatever a reload changes meanwhile; operations and their paths are those of the start.
 */
export function createApi(options: ApiOptions, current: () => ApiOptions = () => options): RequestListener {
  const app = express();
  app.disable('x-powered-by').disable('etag').enable('case sensitive routing').enable('strict routing');
  for (const operation of options.operations) {
    app
      .route(`${options.signRoot}/${operation.path}`)
      .post(async (request, response) => handle(operation, current(), request, response))
      .all((_request, response) => {
        sendProblem(response, new Problem(405, 'operations take POST', { headers: { Allow: 'POST' } }));
      });
  }
  mountFiles(app, options, current);
  mountDocumentation(app, options, current);
  app.use((_request, response) => {
    sendProblem(response, new Problem(404, 'nothing is served at this path'));
  });
  app.use((error: unknown, request: Request, response: Response, _next: NextFunction) => {
    answerError(error, options, request, response);
  });
  const operationsAt = new Map(options.operations.map((operation) => [`${options.signRoot}/${operation.path}`, operation]));
  return (request, response) => {
    options.guard.malformed.follow(request, response);
    limitTime(request, current());
    try {
      checkShape(request);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      sendProblem(response, error);
      return;
    }
    const { traceparent } = request.headers;
    asRequest(typeof traceparent === 'string' ? traceparent : undefined, () => {
      // The way of nearly every request: to look for it among the routes would cost as much as to read its JSON.
      const operation = request.method === 'POST' ? operationsAt.get(request.url ?? '') : undefined;
      if (operation === undefined) {
        app(request, response);
        return;
      }
      handle(operation, current(), request, response).catch((error: unknown) => {
        answerError(error, options, request, response);
      });
    });
  };
}

async function handle(operation: Operation, options: ApiOptions, request: IncomingMessage, response: ServerResponse): Promise<void> {
  checkServing(options);
  const busy = options.busySeconds();
  if (busy !== undefined) throw overloaded(busy);
  const reached = await reach(operation, options, request, response);
  const { admission } = reached;
  await admitted(reached, response, async () => {
    const answered = await answeredWithEvidence(operation, options, request, { ...reached, response });
    if (answered instanceof Problem) throw answered;
    const { result, echo, answer } = answered;
    const pieces = jsonPieces({ result: resultObject(operation.spelling, result), ...echo, ...answer });
    // The record may have waited for the disk.
    await stillAdmitted(admission);
    options.guard.refusals.served();
    await sendPieces(response, 'application/json', pieces);
  });
}

interface Asking {
  readonly caller: Caller;
  readonly admission: Admission;
  readonly ticket: Ticket;
  readonly address: string | undefined;
  readonly response: ServerResponse;
}

/** Carries the request out and records it; after that its evidence is published. */
async function answeredWithEvidence(
  operation: Operation,
  options: ApiOptions,
  request: IncomingMessage,
  asking: Asking,
): Promise<Ending | Problem> {
  const { caller, admission, address } = asking;
  let runs: RequestRuns | undefined;
  let outlivesAnswer = operation.takesIdempotencyKey && request.headers['idempotency-key'] !== undefined;
  try {
    return await recorded(
      options,
      { operation, caller, address },
      async (audited) => {
        runs = new RequestRuns(options.publications, audited.requester.request);
        return carryOut(operation, options, request, { ...asking, audited, runs });
      },
      async (ending) => {
        try {
          // The record may have waited for the disk.
          await stillAdmitted(admission);
          return (await runs?.publish(ending)) ?? ending;
        } catch (error) {
          if (error instanceof Problem && error.status === 403) outlivesAnswer = false;
          return endingOf(error, { path: operation.path, echo: ending.echo, log: options.log });
        }
      },
    );
  } finally {
    await runs?.end({ outlivesAnswer }, options.log);
  }
}

interface Requesting extends Asking {
  readonly audited: AuditedRequest;
  readonly runs: RequestRuns;
}

async function carryOut(
  operation: Operation,
  options: ApiOptions,
  request: IncomingMessage,
  { caller, audited, admission, ticket, response, runs }: Requesting,
): Promise<Ending | Problem> {
  let echo: Ending['echo'] = {};
  const refused = (error: unknown): Ending | Problem => endingOf(error, { path: operation.path, echo, log: options.log });
  try {
    const { limits } = options.guard;
    checkBodyHeaders(request, limits.jsonBodyMaxBytes);
    if (request.headers.expect !== undefined) response.writeContinue();
    const bytes = await readBody(request, limits.jsonBodyMaxBytes, ticket);
    const idempotencyKey = operation.takesIdempotencyKey ? idempotencyKeyOf(request) : undefined;
    const body = withFewDocuments(await parseBody(bytes, options.guard), limits.documentsMax);
    const { requestID } = body;
    if (typeof requestID === 'string' && requestID.isWellFormed()) echo = { requestID };
    audited.requestID = auditedRequestId(echo);
    const ends = async (): Promise<Ending> => {
      await admission.enter();
      const answer = await options.audit.carryOut(audited, async () =>
        runs.run(async (deliveries) => operation.handle(body, options.context(caller, audited, deliveries))),
      );
      await admission.confirm();
      return { result: success, answer, echo };
    };
    if (idempotencyKey === undefined) return await ends();
    const repeated = {
      ...{ operation, caller, body, bodyBytes: bytes.length, echo, audited, log: options.log },
      publication: () => runs.publication,
      renamed: async (publication: string) => options.publications.renamed(publication),
    };
    return await repeatable(options.keptAnswers, idempotencyKey, repeated, async () => ends().catch(refused));
  } catch (error) {
    return refused(error);
  }
}

async function parseBody(bytes: Buffer | SharedBody, { limits, threads }: Guard): Promise<Readonly<Record<string, unknown>>> {
  const json = { valuesMax: limits.jsonValuesMax };
  try {
    return Buffer.isBuffer(bytes) ? parseStrictJson(bytes, json) : await parseBigJson(bytes, json, threads);
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    throw new Problem(error instanceof TooManyValues ? 413 : 400, error.message, { members: { position: error.position } });
  }
}
