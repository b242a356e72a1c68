import { moduleFile } from '../config/module-file.ts';
import { LongText } from '../documents/long-text.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { DigestTask } from './text-digests-thread.ts';

const threadModule = moduleFile('./text-digests-thread', import.meta.url);

/** SHA-512 of each long text of a value, as it was sent (UTF-8), worked out in a work thread. */
export async function digestsOfLongTexts(value: unknown, threads: WorkThreads): Promise<ReadonlyMap<LongText, Uint8Array>> {
  const texts = longTextsIn(value);
  if (texts.length === 0) return new Map();
  const task: DigestTask = { texts: texts.map(({ kind, bytes }) => ({ kind, bytes })) };
  const digests = await threads.run<readonly Uint8Array[]>(threadModule, 'digestsOfTexts', task);
  return new Map(texts.map((text, index) => [text, digests[index] ?? new Uint8Array()]));
}

function longTextsIn(value: unknown): LongText[] {
  if (value instanceof LongText) return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.values(value).flatMap(longTextsIn);
}
