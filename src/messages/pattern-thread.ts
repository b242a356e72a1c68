/** Runs in a work thread. */
import { createContext, Script } from 'node:vm';

/** A regular expression may run forever; this is the only way to stop it. */
const timeoutMs = 1000;
const search = new Script("new RegExp(pattern, 'u').exec(text)?.[1]");

export interface PatternTask {
  readonly patterns: readonly string[];
  readonly text: string;
}

/**
 * Returns the first group of each pattern in the text; undefined for a pattern that takes too long.
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
