import type { WorkThreads } from '../threads/work-threads.ts';
import { contentThread, isBig } from './big-content.ts';
import type { Content } from './content.ts';
import { LongAnswer } from './long-answer.ts';
import { counted } from '../service/shared-memory.ts';

/** Returns the base64 of pieces, as it goes into an answer. @throws {Fault} CONTENT_CHANGED for a signed file that has changed */
export async function evidenceBase64(pieces: readonly Content[], threads: WorkThreads): Promise<string | LongAnswer> {
  const inMemory = pieces.filter((piece) => piece instanceof Uint8Array);
  if (!isBig(pieces)) return Buffer.concat(inMemory).toString('base64');
  return new LongAnswer(new Uint8Array(counted(await threads.run<SharedArrayBuffer>(contentThread.sharedBase64, { pieces }))));
}
