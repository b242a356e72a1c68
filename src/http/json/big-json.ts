import { moduleFile } from '../../config/module-file.ts';
import { LongText } from '../../documents/long-text.ts';
import type { ThreadFunction, WorkThreads } from '../../threads/work-threads.ts';
import type { BigJsonResult, BigJsonTask } from './big-json-thread.ts';
import { JsonError, TooManyValues } from './json-scanner.ts';
import { counted } from '../../service/shared-memory.ts';

const thread: ThreadFunction = {
  module: moduleFile('./big-json-thread', import.meta.url),
  name: 'readBigJson',
  lane: 'quick',
  whenClientIsGone: 'stops',
};
/** Members whose content is plain text (interface, document). */
const textMembers = ['plainValue'];

/** A body in memory that threads share. */
export interface SharedBody {
  readonly pieces: readonly SharedArrayBuffer[];
  readonly length: number;
}

/**
 * Reads a big body as `parseStrictJson` does, in a work thread: nothing of its size is touched on
 * the event loop. Long texts come as LongText.
 * @throws {JsonError}
 */
export async function parseBigJson(
  body: SharedBody,
  { valuesMax }: { readonly valuesMax: number },
  threads: WorkThreads,
): Promise<Readonly<Record<string, unknown>>> {
  const task: BigJsonTask = { ...body, valuesMax, textMembers };
  const result = await threads.run<BigJsonResult>(thread, task);
  if ('fault' in result) {
    const { message, position, tooMany } = result.fault;
    throw tooMany ? new TooManyValues(message, position) : new JsonError(message, position);
  }
  const memory = result.memory === undefined ? body.pieces[0] : counted(result.memory);
  if (memory === undefined) throw new Error('a body without memory');
  for (const { path, kind, start, length } of result.long) {
    let holder: unknown = result.value;
    for (const step of path.slice(0, -1)) holder = typeof holder === 'object' && holder !== null ? Reflect.get(holder, step) : undefined;
    const last = path.at(-1);
    if (typeof holder !== 'object' || holder === null || last === undefined) throw new Error('the place of a long text is missing');
    Reflect.set(holder, last, new LongText(kind, new Uint8Array(memory, start, length)));
  }
  return result.value;
}
