import { moduleFile } from '../config/module-file.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { Content } from './content.ts';
import { LongAnswer } from './long-answer.ts';
import { counted } from '../service/shared-memory.ts';

/** From here on base64 is made outside of the event loop. */
const bigBytes = 256 * 1024;
const thread = moduleFile('./base64-thread', import.meta.url);

/** The base64 of pieces, as it goes into an answer. @throws {Fault} CONTENT_CHANGED for a signed file that has changed */
export async function evidenceBase64(pieces: readonly Content[], threads: WorkThreads): Promise<string | LongAnswer> {
  const inMemory = pieces.filter((piece) => piece instanceof Uint8Array);
  const bytes = inMemory.reduce((total, piece) => total + piece.length, 0);
  if (inMemory.length === pieces.length && bytes <= bigBytes) return Buffer.concat(inMemory).toString('base64');
  return new LongAnswer(new Uint8Array(counted(await threads.run<SharedArrayBuffer>(thread, 'sharedBase64', { pieces }))));
}
