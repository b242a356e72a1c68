import type { AuditedRequest } from '../../audit/audited-request.ts';
import { jsonPieces } from '../../documents/long-answer.ts';
import type { LimitsConfig } from '../../config/limits-config.ts';
import { withFewDocuments } from '../../operations/fields/input-documents.ts';
import type { Operation } from '../../operations/operation.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';
import { currentSender } from '../../telemetry/current-request.ts';
import { checkBodyHeaders, readBody } from '../body/body.ts';
import { freeMemory } from '../body/free-memory.ts';
import { workTurns } from '../body/work-turns.ts';
import { parseBigJson, type SharedBody } from '../json/big-json.ts';
import { JsonError, TooManyValues } from '../json/json-scanner.ts';
import { parseSmallJson } from '../json/small-json.ts';
import { Problem } from '../problem.ts';
import { cscAnswerOf, isCscError } from '../../operations/csc/errors.ts';
import { send, sendNothing, sendPieces } from '../send.ts';
import { resultObject } from './answer.ts';
import { isFault } from '../../faults.ts';
import { endingOf } from './ending-of.ts';
import { stillAdmitted, whileAdmitted, type AdmittedRequest, type RequestWork } from './pipeline.ts';
import { auditedRequestId, type Ending } from './recorded.ts';
import { idempotencyKeyOf, repeatable } from './repeatable.ts';
import { RequestRuns } from './request-runs.ts';

/**
 * A request for an operation: a JSON body, an answer with a result object, and evidence that may be
 * published beside it.
 */
export class OperationWork implements RequestWork {
  readonly #operation: Operation;
  readonly #admitted: AdmittedRequest;
  #echo: Ending['echo'] = {};
  #runs: RequestRuns | undefined;
  /** Whether a repetition is answered with what is due, even if this answer does not leave. */
  #outlivesAnswer: boolean;

  constructor(operation: Operation, admitted: AdmittedRequest) {
    this.#operation = operation;
    this.#admitted = admitted;
    this.#outlivesAnswer = operation.takesIdempotencyKey && admitted.request.headers['idempotency-key'] !== undefined;
  }

  get echo(): Ending['echo'] {
    return this.#echo;
  }

  async carryOut(audited: AuditedRequest): Promise<Ending | Problem> {
    const { services, request, response, caller, ticket } = this.#admitted;
    const { limits, log, publications } = services;
    const runs = new RequestRuns(publications, audited.requester.request);
    this.#runs = runs;
    checkBodyHeaders(request, limits.jsonBodyMaxBytes);
    if (request.headers.expect !== undefined) response.writeContinue();
    const bytes = await readBody(request, limits.jsonBodyMaxBytes, ticket);
    const bodyBytes = bytes.length;
    const turn = workTurns.turn(currentSender(), Buffer.isBuffer(bytes) ? bodyBytes : 0);
    if (turn !== undefined) await turn;
    const idempotencyKey = this.#operation.takesIdempotencyKey ? idempotencyKeyOf(request) : undefined;
    const body = withFewDocuments(await parseBody(bytes, limits, services.guard.threads), limits.documentsMax);
    const { requestID } = body;
    if (typeof requestID === 'string' && requestID.isWellFormed()) this.#echo = { requestID };
    audited.requestID = auditedRequestId(this.#echo);
    if (idempotencyKey === undefined) return this.#run(body, audited, runs);
    const repeated = {
      ...{ operation: this.#operation, caller, body, bodyBytes, echo: this.#echo, audited, log },
      publication: () => runs.publication,
      success: () => runs.success,
      renamed: async (publication: string) => publications.renamed(publication),
    };
    return repeatable(services.keptAnswers, idempotencyKey, repeated, async () =>
      this.#run(body, audited, runs).catch((error: unknown) => this.#failed(error)),
    );
  }

  async publish(ending: Ending): Promise<Ending | Problem> {
    try {
      // The record may have waited for the disk.
      await stillAdmitted(this.#admitted.admission);
      return (await this.#runs?.publish(ending)) ?? ending;
    } catch (error) {
      if (error instanceof Problem && error.status === 403) this.#outlivesAnswer = false;
      return this.#failed(error);
    }
  }

  async recorded(): Promise<void> {
    await this.#runs?.end({ outlivesAnswer: this.#outlivesAnswer }, this.#admitted.services.log);
  }

  answer(ending: Ending): () => Promise<void> {
    const { result, echo, answer } = ending;
    const { spelling, failure } = this.#operation;
    if (spelling === 'csc' || spelling === 'csc without answer') return this.#cscAnswer(spelling, ending);
    const members = result.major === 0 ? answer : { ...failure, ...answer };
    const pieces = jsonPieces({ result: resultObject(spelling, result), ...echo, ...members });
    return async () => sendPieces(this.#admitted.response, 'application/json', pieces);
  }

  /** An answer of the Cloud Signature Consortium's API: the members alone, or an error with its status. */
  #cscAnswer(form: 'csc' | 'csc without answer', { result, answer }: Ending): () => Promise<void> {
    const { response } = this.#admitted;
    if (result.major !== 0) {
      const { status, error, error_description } = isCscError(answer) ? answer : cscAnswerOf(result);
      return async () => {
        send(
          response,
          status,
          'application/json',
          JSON.stringify({ error, error_description }),
          status === 503 ? { 'Retry-After': '5' } : {},
        );
        return Promise.resolve();
      };
    }
    if (form === 'csc') {
      const pieces = jsonPieces(answer);
      return async () => sendPieces(response, 'application/json', pieces);
    }
    return async () => {
      sendNothing(response);
      return Promise.resolve();
    };
  }

  async #run(body: Readonly<Record<string, unknown>>, audited: AuditedRequest, runs: RequestRuns): Promise<Ending> {
    const { services, caller } = this.#admitted;
    const answer = await whileAdmitted(this.#admitted, audited, async () =>
      runs.run(async (run) => this.#operation.handle(body, services.context(caller, audited, run))),
    );
    return { result: runs.success, answer, echo: this.#echo };
  }

  #failed(error: unknown): Ending | Problem {
    return endingOf(error, { path: this.#operation.path, echo: this.#echo, log: this.#admitted.services.log });
  }
}

async function parseBody(
  bytes: Buffer | SharedBody,
  { jsonValuesMax }: LimitsConfig,
  threads: WorkThreads,
): Promise<Readonly<Record<string, unknown>>> {
  const json = { valuesMax: jsonValuesMax };
  try {
    return Buffer.isBuffer(bytes) ? parseSmallJson(bytes, json) : await parseBigJson(bytes, json, threads);
  } catch (error) {
    if (isFault(error, 'TASK_TIMEOUT')) throw new Problem(503, 'reading the body takes too long', { headers: { 'Retry-After': '5' } });
    if (!(error instanceof JsonError)) throw error;
    throw new Problem(error instanceof TooManyValues ? 413 : 400, error.message, { members: { position: error.position } });
  } finally {
    if (Buffer.isBuffer(bytes)) freeMemory(bytes);
  }
}
