import { moduleFile } from '../config/module-file.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { PatternTask } from './pattern-thread.ts';

const threadModule = moduleFile('./pattern-thread', import.meta.url);
/** How much of a text is searched; the relevant part is at the beginning. */
const textCharacters = 4096;

/**
 * Returns the first groups of patterns in a gateway's text, by pattern. It searches in a thread,
 * since an operator's expression may take long.
 */
export async function matchesOf(
  patterns: readonly string[],
  response: string,
  threads: WorkThreads,
): Promise<ReadonlyMap<string, string | undefined>> {
  if (patterns.length === 0) return new Map();
  const task: PatternTask = { patterns, text: response.slice(0, textCharacters) };
  const groups = await threads.run<readonly (string | undefined)[]>(threadModule, 'firstGroups', task);
  return new Map(patterns.map((pattern, index) => [pattern, groups[index]]));
}
