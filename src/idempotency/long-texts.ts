import { contentThread } from '../documents/big-content.ts';
import type { DigestTask } from '../documents/content-thread.ts';
import { LongText } from '../documents/long-text.ts';
import type { WorkThreads } from '../threads/work-threads.ts';

/**
 * Returns the SHA-512 of each long text of a value, as it was sent (UTF-8), computed in work
 * threads.
 */
export async function digestsOfLongTexts(value: unknown, threads: WorkThreads): Promise<ReadonlyMap<LongText, Uint8Array>> {
  const digests = longTextsIn(value).map(async (text): Promise<[LongText, Uint8Array]> => {
    const task: DigestTask = { content: text.bytes, hash: 'sha512', asBase64: text.kind === 'base64' };
    return [text, await threads.run<Uint8Array>(contentThread.digest, task)];
  });
  return new Map(await Promise.all(digests));
}

function longTextsIn(value: unknown): LongText[] {
  if (value instanceof LongText) return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(longTextsIn);
}
