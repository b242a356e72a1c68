import { contentThread } from '../documents/big-content.ts';
import type { DigestTask } from '../documents/content-thread.ts';
import { LongText } from '../documents/long-text.ts';
import type { WorkThreads } from '../threads/work-threads.ts';

/**
 * Returns the SHA-512 of each long text of a value, as it was sent (UTF-8), computed in work
 * threads.
 */
export async function digestsOfLongTexts(value: unknown, threads: WorkThreads): Promise<ReadonlyMap<LongText, Uint8Array>> {
  const texts = longTextsIn(value);
  if (texts.length === 0) return new Map();
  // One task for all: a request may have thousands of texts.
  const tasks = texts.map(({ kind, bytes }): DigestTask => ({ content: bytes, hash: 'sha512', asBase64: kind === 'base64' }));
  const digests = await threads.run<readonly Uint8Array[]>(contentThread.digests, { tasks });
  return new Map(texts.map((text, index) => [text, digests[index] ?? new Uint8Array()]));
}

function longTextsIn(value: unknown): LongText[] {
  if (value instanceof LongText) return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(longTextsIn);
}
