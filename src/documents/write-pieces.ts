import { moduleFile } from '../config/module-file.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { Content } from './content.ts';
import type { WriteOutcome, WriteTask } from './write-thread.ts';

const thread = moduleFile('./write-thread', import.meta.url);

/**
 * Writes the pieces into an empty file that is open, in a thread, and syncs it. Answers what is in it.
 * @throws the error of the file system, with its code; an Error of the name ContentChanged for a signed file that has changed
 */
export async function writePieces(
  pieces: readonly Content[],
  descriptor: number,
  threads: WorkThreads,
): Promise<{ bytes: number; sha256: Buffer }> {
  const task: WriteTask = { pieces, descriptor };
  const outcome = await threads.run<WriteOutcome>(thread, 'writePieces', task);
  if ('code' in outcome) throw Object.assign(new Error(outcome.text), { code: outcome.code });
  return { bytes: outcome.bytes, sha256: Buffer.from(outcome.sha256) };
}
