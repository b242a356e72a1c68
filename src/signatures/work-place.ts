/** Whether the work on signatures is done on the event loop or in a thread. */
import { moduleFile } from '../config/module-file.ts';
import { isBig } from '../documents/big-content.ts';
import type { Content } from '../documents/content.ts';
import { isFault, refusalOf } from '../faults.ts';
import { Refusal } from '../result-codes.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { Workload } from './format.ts';
import type { CompleteTask, LevelOfTask, LevelReadTask, PrepareTask } from './formats.ts';

/**
 * Characters of parameters and states, once for each document, beyond which the event loop is held
 * too long.
 */
export const textOnLoopMax = 512 * 1024;

export function textLength(plain: unknown): number {
  return JSON.stringify(plain)?.length ?? 0;
}

/**
 * More documents than these, however small, hold the event loop too long: each takes about 0.1 ms.
 */
const usualDocumentsOnLoop = 200;

export function isLong(
  contents: readonly Content[],
  { threadBeyondBytes, isRisky, documentsOnLoopMax = usualDocumentsOnLoop }: Workload,
): boolean {
  if (threadBeyondBytes === 0 || contents.length > documentsOnLoopMax || isBig(contents, threadBeyondBytes)) return true;
  return isRisky !== undefined && contents.some((content) => content instanceof Uint8Array && isRisky(content));
}

const module = moduleFile('./formats', import.meta.url);

/**
 * Runs a function of `formats.ts` in a thread. `parsingMs`: a deadline besides that of the
 * workload.
 * @throws {Refusal} UNSUPPORTED if it takes too long; DOCUMENT_INVALID beyond a deadline of its own
 */
export async function inThread<T>(
  threads: Pick<WorkThreads, 'run'>,
  name: 'prepareTask' | 'completeTask' | 'archiveImprintTask' | 'levelOfTask',
  task: PrepareTask | CompleteTask | LevelReadTask | LevelOfTask,
  { lane, deadline, parsingMs = Infinity }: Pick<Workload, 'lane' | 'deadline'> & { readonly parsingMs?: number },
): Promise<T> {
  // Before the preparation, nothing has happened; a completion belongs to values that were used.
  const whenClientIsGone = name === 'prepareTask' ? 'stops' : 'finishes';
  const deadlineMs = Math.min(deadline?.ms ?? Infinity, parsingMs);
  try {
    return await threads.run<T>({ module, name, lane, whenClientIsGone, ...(deadlineMs < Infinity ? { deadlineMs } : {}) }, task);
  } catch (error) {
    if (!isFault(error, 'TASK_TIMEOUT')) throw error;
    if (deadline?.ms === deadlineMs) throw new Refusal('DOCUMENT_INVALID', { at: deadline.at, message: deadline.message, cause: error });
    throw refusalOf(error, { at: '/inputDocuments', message: 'reading the documents takes too long' });
  }
}
