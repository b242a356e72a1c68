import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { WorkThreads } from '../threads/work-threads.ts';
import { contentThread, isBig } from './big-content.ts';
import type { Content } from './content.ts';
import type { WriteOutcome, WriteTask } from './content-thread.ts';

/**
 * Writes the pieces into an empty file that is open, and syncs it. Answers what is in it.
 * @throws the error of the file system, with its code; a Fault CONTENT_CHANGED for a signed file that has changed
 */
export async function writePieces(
  pieces: readonly Content[],
  file: FileHandle,
  threads: WorkThreads,
): Promise<{ bytes: number; sha256: Buffer }> {
  const inMemory = pieces.filter((piece) => piece instanceof Uint8Array);
  if (!isBig(pieces)) {
    const whole = Buffer.concat(inMemory);
    await file.writeFile(whole);
    await file.sync();
    return { bytes: whole.length, sha256: createHash('sha256').update(whole).digest() };
  }
  const task: WriteTask = { pieces, descriptor: file.fd };
  const outcome = await threads.run<WriteOutcome>(contentThread.writePieces, task);
  if ('code' in outcome) throw Object.assign(new Error(outcome.text), { code: outcome.code });
  return { bytes: outcome.bytes, sha256: Buffer.from(outcome.sha256) };
}
