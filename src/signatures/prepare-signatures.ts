import type { InputDocument } from '../documents/document.ts';
import { isFault } from '../faults.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { Prepared } from './format.ts';
import { formats, prepareTask, type PrepareTask } from './formats.ts';
import type { PreparedSignatures, SigningPlan } from './signatures.ts';
import { inThread, isLong, textLength, textOnLoopMax } from './work-place.ts';

/**
 * Prepares the signatures, unless that takes longer than the event loop may be held: then undefined,
 * and `prepareInThread` does.
 * @throws {Refusal} if a document does not suit the format
 */
export function prepareAtOnce(plan: SigningPlan, documents: readonly InputDocument[]): PreparedSignatures | undefined {
  const { format, parameters } = plan;
  const contents = documents.flatMap(({ source }) => ('content' in source ? [source.content] : []));
  const isForThread =
    isLong(contents, formats[format].format.workload(parameters)) ||
    (documents.length > 1 && documents.length * textLength(parameters) > textOnLoopMax);
  const prepared = isForThread ? undefined : preparedQuickly(prepareTaskOf(plan, documents));
  return prepared === undefined ? undefined : signaturesOf(plan, prepared);
}

/**
 * Longest time for which a thread parses documents for a caller who has shown no secret: more than
 * documents take that anybody made in earnest.
 */
const withoutSecretMs = 30_000;

/**
 * Prepares the signatures in a thread. `parsingMs`: a deadline shorter than the usual one, for
 * documents that are parsed.
 * @throws {Refusal} if a document does not suit the format; UNSUPPORTED beyond the deadline
 */
export async function prepareInThread(
  plan: SigningPlan,
  documents: readonly InputDocument[],
  threads: Pick<WorkThreads, 'run'>,
  parsingMs = Infinity,
): Promise<PreparedSignatures> {
  const usual = formats[plan.format].format.workload(plan.parameters);
  const workload = usual.lane === 'parsing' && parsingMs < Infinity ? { ...usual, parsingMs } : usual;
  return signaturesOf(plan, await inThread<readonly Prepared<unknown>[]>(threads, 'prepareTask', prepareTaskOf(plan, documents), workload));
}

function prepareTaskOf({ format, parameters, chain }: SigningPlan, documents: readonly InputDocument[]): PrepareTask {
  return { format, documents, parameters, chain, moment: { now: new Date() } };
}

function signaturesOf(
  { format, algorithm, level, chain, isText }: SigningPlan,
  prepared: readonly Prepared<unknown>[],
): PreparedSignatures {
  return { format, algorithm, level, chain, isText, prepared };
}

/** Prepares signatures on the event loop, unless that takes long. */
function preparedQuickly(task: PrepareTask): readonly Prepared<unknown>[] | undefined {
  try {
    return prepareTask({ ...task, moment: { ...task.moment, mustBeQuick: true } });
  } catch (error) {
    if (isFault(error, 'NOT_QUICK')) return undefined;
    throw error;
  }
}

/**
 * Prepares the signatures for a caller who has shown no secret, with a deadline of 30 seconds for
 * documents that are parsed in a thread.
 * @throws {Refusal} if a document does not suit the format; UNSUPPORTED beyond the deadline
 */
export async function prepareSignatures(
  plan: SigningPlan,
  documents: readonly InputDocument[],
  threads: Pick<WorkThreads, 'run'>,
): Promise<PreparedSignatures> {
  return prepareAtOnce(plan, documents) ?? prepareInThread(plan, documents, threads, withoutSecretMs);
}
