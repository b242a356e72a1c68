import { randomUUID } from 'node:crypto';
import type { Audit, Outcome } from '../../audit/audit.ts';
import type { AuditedRequest } from '../../audit/audited-request.ts';
import type { Caller } from '../../clients/caller.ts';
import { resultCodes } from '../../result-codes.ts';
import { currentRequest } from '../../telemetry/current-request.ts';
import type { Logger } from '../../telemetry/log.ts';
import type { RequestMetrics } from '../../telemetry/http-metrics.ts';
import { resultOf, type ResultValues } from './answer.ts';
import { Problem } from '../problem.ts';
import { recordedReason } from './recorded-reason.ts';

/** Length to which the audit log cuts a caller's requestID. */
const requestIdCharacters = 128;

/** Outcome of a request whose client has the role, unless it is an HTTP problem. */
export interface Ending {
  readonly result: ResultValues;
  readonly answer: object;
  readonly echo: { readonly requestID?: string };
  /** Of a refusal: its message for the audit log. */
  readonly reason?: string;
}

export interface Reached {
  /** Its name in metrics and in the audit log. */
  readonly operation: { readonly path: string };
  readonly caller: Caller;
  readonly address: string | undefined;
}

/**
 * Carries out the request, and records its outcome before anything is answered or published. If the
 * record cannot be written, even a success becomes 2/243. `publish` is called for a success once
 * its record is on disk, and may change it; if it fails, the failure is recorded as well.
 */
export async function recorded(
  { audit, log, metrics }: { readonly audit: Audit; readonly log: Logger; readonly metrics?: RequestMetrics | undefined },
  { operation, caller, address }: Reached,
  ends: (audited: AuditedRequest) => Promise<Ending | Problem>,
  publish: (ending: Ending) => Promise<Ending | Problem> = async (ending) => Promise.resolve(ending),
): Promise<Ending | Problem> {
  const started = performance.now();
  const requester = {
    request: currentRequest()?.request ?? randomUUID(),
    client: caller.name,
    tenant: caller.tenant,
    spki: caller.spkiSha256.slice(0, 16),
  };
  const audited = audit.begin({ ...requester, address, operation: operation.path });
  let ending = await ends(audited);
  let outcome = outcomeOf(ending);
  try {
    await audit.finish(audited, outcome);
    if (!(ending instanceof Problem) && ending.result.major === 0) {
      ending = await publish(ending);
      const published = outcomeOf(ending);
      if (published.major !== 0) await audit.finish(audited, published);
      outcome = published;
    }
  } catch (error) {
    const echo = ending instanceof Problem ? {} : ending.echo;
    const result = resultOf(error, operation.path, log);
    ending = { result, answer: {}, echo, reason: recordedReason(error, result.message) };
  }
  const ms = performance.now() - started;
  const { major, minor, status } = outcomeOf(ending);
  metrics?.answered(operation.path, status === undefined ? `${major}/${minor}` : String(status), ms);
  log.debug('request', { ...requester, operation: operation.path, ...outcome, ms: Math.round(ms) });
  return ending;
}

function outcomeOf(ending: Ending | Problem): Outcome {
  if (ending instanceof Problem) return { status: ending.status, reason: recordedReason(ending, ending.message) };
  const requestID = auditedRequestId(ending.echo);
  const { major, minor } = ending.result;
  const reason = major === 0 ? undefined : (ending.reason ?? reasonOfCode(minor));
  return { ...(requestID === undefined ? {} : { requestID }), major, minor, ...(reason === undefined ? {} : { reason }) };
}

/** A repeated answer of an earlier version has no reason. */
function reasonOfCode(minor: number): string | undefined {
  return Object.values(resultCodes).find((code) => code.minor === minor)?.text;
}

/** Returns a caller's requestID in the form of the audit log. */
export function auditedRequestId({ requestID }: Ending['echo']): string | undefined {
  return requestID?.slice(0, requestIdCharacters).toWellFormed();
}
