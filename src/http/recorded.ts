import { randomUUID } from 'node:crypto';
import type { Audit, Outcome } from '../audit/audit.ts';
import type { AuditedRequest } from '../audit/audited-request.ts';
import type { Caller } from '../clients/caller.ts';
import { currentRequest } from '../telemetry/current-request.ts';
import type { Logger } from '../telemetry/log.ts';
import type { RequestMetrics } from '../telemetry/request-metrics.ts';
import { resultOf, type ResultValues } from './answer.ts';
import { Problem } from './problem.ts';

/** What the audit log keeps of a caller's requestID. */
const requestIdCharacters = 128;

/** How a request that reached a client and a role ends, problems of HTTP apart. */
export interface Ending {
  readonly result: ResultValues;
  readonly answer: object;
  readonly echo: { readonly requestID?: string };
}

export interface Reached {
  /** What it is called in metrics and in the audit log. */
  readonly operation: { readonly path: string };
  readonly caller: Caller;
  readonly address: string | undefined;
}

/** Lets the request end, and records how before anything is answered. Without its record, even a success becomes 2/243. */
export async function recorded(
  { audit, log, metrics }: { readonly audit: Audit; readonly log: Logger; readonly metrics?: RequestMetrics | undefined },
  { operation, caller, address }: Reached,
  ends: (audited: AuditedRequest) => Promise<Ending | Problem>,
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
  const outcome = outcomeOf(ending);
  try {
    await audit.finish(audited, outcome);
  } catch (error) {
    const echo = ending instanceof Problem ? {} : ending.echo;
    ending = { result: resultOf(error, operation.path, log), answer: {}, echo };
  }
  const ms = performance.now() - started;
  const { major, minor, status } = outcomeOf(ending);
  metrics?.answered(operation.path, status === undefined ? `${major}/${minor}` : String(status), ms);
  log.debug('request', { ...requester, operation: operation.path, ...outcome, ms: Math.round(ms) });
  return ending;
}

function outcomeOf(ending: Ending | Problem): Outcome {
  if (ending instanceof Problem) return { status: ending.status };
  const { requestID } = ending.echo;
  const { major, minor } = ending.result;
  return { ...(requestID === undefined ? {} : { requestID: requestID.slice(0, requestIdCharacters).toWellFormed() }), major, minor };
}
