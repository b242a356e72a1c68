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

/** Prepares the signatures in a thread. @throws {Refusal} if a document does not suit the format */
export async function prepareInThread(
  plan: SigningPlan,
  documents: readonly InputDocument[],
  threads: Pick<WorkThreads, 'run'>,
): Promise<PreparedSignatures> {
  const workload = formats[plan.format].format.workload(plan.parameters);
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

/** Prepares the signatures. @throws {Refusal} if a document does not suit the format */
export async function prepareSignatures(
  plan: SigningPlan,
  documents: readonly InputDocument[],
  threads: Pick<WorkThreads, 'run'>,
): Promise<PreparedSignatures> {
  return prepareAtOnce(plan, documents) ?? prepareInThread(plan, documents, threads);
}
