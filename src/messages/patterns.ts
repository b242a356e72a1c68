import { moduleFile } from '../config/module-file.ts';
import type { ThreadFunction, WorkThreads } from '../threads/work-threads.ts';
import type { PatternTask } from './pattern-thread.ts';

const thread: ThreadFunction = { module: moduleFile('./pattern-thread', import.meta.url), name: 'firstGroups', lane: 'parsing' };
/** What an expression looks at: what it is for stands at the beginning. */
const textCharacters = 4096;

/** What the first groups of patterns matched in a gateway's words, by pattern; searched in a thread, since an operator's expression may take long. */
export async function matchesOf(
  patterns: readonly string[],
  words: string,
  threads: WorkThreads,
): Promise<ReadonlyMap<string, string | undefined>> {
  if (patterns.length === 0) return new Map();
  const task: PatternTask = { patterns, text: words.slice(0, textCharacters) };
  const groups = await threads.run<readonly (string | undefined)[]>(thread, task);
  return new Map(patterns.map((pattern, index) => [pattern, groups[index]]));
}
