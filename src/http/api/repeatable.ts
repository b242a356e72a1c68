import type { IncomingMessage } from 'node:http';
import type { AuditedRequest } from '../../audit/audited-request.ts';
import { NotPublishedYet, withPaths, type RenamedPaths } from '../../documents/publications.ts';
import { KeptAnswersFull } from '../../idempotency/claims.ts';
import { OtherRequest, type KeptAnswers } from '../../idempotency/kept-answers.ts';
import type { Refusal } from '../../result-codes.ts';
import type { Logger } from '../../telemetry/log.ts';
import { resultOf, type ResultValues } from './answer.ts';
import { ClientGone } from './ending-of.ts';
import { Problem } from '../problem.ts';
import type { Ending, Reached } from './recorded.ts';
import { recordedReason } from './recorded-reason.ts';

/**
 * Failures with major 2 that are kept, like successes and failures with major 1 (contract §10):
 * they remain true.
 */
const keptMinors: ReadonlySet<number> = new Set([202, 204, 205]);

/**
 * Returns the key: 8 to 128 visible ASCII characters, given once (contract §10).
 * @throws {Problem} 400
 */
export function idempotencyKeyOf(request: IncomingMessage): string | undefined {
  const values = request.headersDistinct['idempotency-key'];
  if (values === undefined) return undefined;
  const [value] = values;
  if (values.length !== 1 || value === undefined || !/^[\x21-\x7e]{8,128}$/.test(value)) {
    throw new Problem(400, 'the Idempotency-Key must have 8 to 128 visible ASCII characters and be given once');
  }
  return value;
}

export interface Repeated extends Pick<Reached, 'operation' | 'caller'> {
  readonly body: Readonly<Record<string, unknown>>;
  readonly bodyBytes: number;
  readonly echo: Ending['echo'];
  readonly audited: AuditedRequest;
  readonly log: Logger;
  /** Identifies evidence delivered outside the answer, in the journal of publications. */
  readonly publication: () => string | undefined;
  /** Result of its success. */
  readonly success: () => ResultValues;
  /**
   * Waits until it is published. Returns the paths that differ from those planned.
   * @throws {NotPublishedYet}
   */
  readonly renamed: (publication: string) => Promise<RenamedPaths>;
}

/**
 * An ending with its audit data. The audit record of a repetition contains this data again, since
 * the first record may have been lost.
 */
interface Told {
  readonly ending: Ending | Problem;
  readonly key: string | undefined;
  readonly digests: readonly string[];
  readonly publication?: string;
}

/**
 * Returns the first ending of a request with an Idempotency-Key; a first request is carried out by
 * `ends`, which reports failures only by its ending.
 * @throws {Problem} 422 for a key that was used with another body; 429 and 503 if no space is left
 *   for further answers; 503 if the evidence is not published yet
 */
export async function repeatable(
  kept: Pick<KeptAnswers, 'once'>,
  idempotencyKey: string,
  { operation, caller, body, bodyBytes, echo, audited, log, publication, success, renamed }: Repeated,
  ends: () => Promise<Ending | Problem>,
): Promise<Ending | Problem> {
  const request = { client: caller.spkiSha256, tenant: caller.tenant, operation: operation.path, idempotencyKey, body, bodyBytes };
  const told = (ending: Ending | Problem): Told => {
    const delivered = ending instanceof Problem || ending.result.major !== 0 ? undefined : publication();
    return { ending, key: audited.key, digests: audited.digests, ...(delivered === undefined ? {} : { publication: delivered }) };
  };
  try {
    const { ending: first, isRepeated } = await kept.once<Told>(request, {
      run: async () => told(await ends()),
      isKept: ({ ending: one }) => !(one instanceof Problem) && isKept(one.result),
      isStopped: ({ ending: one }) => one instanceof ClientGone,
      // A kept ending was stored by this function and is authenticated, so it has this type.
      endingOf: (keptEnding) => keptEnding as Told,
      settled: (outcome) =>
        told(
          'answer' in outcome ? { result: success(), answer: outcome.answer, echo } : refused(outcome.refusal, { operation, echo, log }),
        ),
    });
    const { ending } = first;
    if (!isRepeated) return ending;
    audited.repeats(first);
    if (first.publication === undefined || ending instanceof Problem) return ending;
    return { ...ending, answer: withPaths(ending.answer, await renamed(first.publication)) };
  } catch (error) {
    if (error instanceof NotPublishedYet) throw new Problem(503, error.message, { headers: { 'Retry-After': '2' } });
    if (error instanceof KeptAnswersFull) throw noRoom(error);
    if (!(error instanceof OtherRequest)) throw error;
    throw new Problem(422, `${error.message}: send the same body, or choose another key for another request`);
  }
}

function refused(refusal: Refusal, { operation, echo, log }: Pick<Repeated, 'operation' | 'echo' | 'log'>): Ending {
  const result = resultOf(refusal, operation.path, log);
  return { result, answer: refusal.answer, echo, reason: recordedReason(refusal, result.message) };
}

function noRoom({ whose, fullMs }: KeptAnswersFull): Problem {
  const headers = { 'Retry-After': String(Math.max(1, Math.ceil(fullMs / 1000))) };
  const of = { client: "this client's ", tenant: "this client's tenant's ", all: '' };
  const what = `${of[whose]}requests with an Idempotency-Key`;
  const detail = `no more answers to ${what} can be kept now; nothing was done; a request without the header is carried out`;
  return new Problem(whose === 'all' ? 503 : 429, detail, { headers });
}

function isKept({ major, minor }: ResultValues): boolean {
  return major === 0 || major === 1 || keptMinors.has(minor);
}
