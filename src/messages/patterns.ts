import { createContext, Script } from 'node:vm';
import { moduleFile } from '../config/module-file.ts';
import { isFault } from '../faults.ts';
import type { ThreadFunction, WorkThreads } from '../threads/work-threads.ts';

const thread: ThreadFunction = { module: moduleFile('./patterns', import.meta.url), name: 'firstGroups', lane: 'quick' };
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
  // The message has been sent: an answer in which nothing is found says as much.
  const groups = await threads.run<readonly (string | undefined)[]>(thread, task).catch((error: unknown) => {
    if (isFault(error, 'TASK_TIMEOUT')) return [];
    throw error;
  });
  return new Map(patterns.map((pattern, index) => [pattern, groups[index]]));
}

/** A regular expression may run forever; this is the only way to stop it. */
const timeoutMs = 1000;
const search = new Script("new RegExp(pattern, 'u').exec(text)?.[1]");

interface PatternTask {
  readonly patterns: readonly string[];
  readonly text: string;
}

/**
 * Runs in a work thread. Returns the first group of each pattern in the text; undefined for a
 * pattern that takes too long.
 */
export function firstGroups({ patterns, text }: PatternTask): readonly (string | undefined)[] {
  return patterns.map((pattern) => {
    try {
      const group: unknown = search.runInContext(createContext({ pattern, text }), { timeout: timeoutMs });
      return typeof group === 'string' ? group : undefined;
    } catch {
      return undefined;
    }
  });
}
