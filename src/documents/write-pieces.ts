import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { moduleFile } from '../config/module-file.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { Content } from './content.ts';
import type { WriteOutcome, WriteTask } from './write-thread.ts';

/** From here on pieces are hashed and written in a thread; files always are. */
const bigBytes = 256 * 1024;
const thread = moduleFile('./write-thread', import.meta.url);

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
  const bytes = inMemory.reduce((total, piece) => total + piece.length, 0);
  if (inMemory.length === pieces.length && bytes <= bigBytes) {
    const whole = Buffer.concat(inMemory);
    await file.writeFile(whole);
    await file.sync();
    return { bytes, sha256: createHash('sha256').update(whole).digest() };
  }
  const task: WriteTask = { pieces, descriptor: file.fd };
  const outcome = await threads.run<WriteOutcome>(thread, 'writePieces', task);
  if ('code' in outcome) throw Object.assign(new Error(outcome.text), { code: outcome.code });
  return { bytes: outcome.bytes, sha256: Buffer.from(outcome.sha256) };
}
