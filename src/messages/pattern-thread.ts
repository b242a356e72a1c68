/** Runs in a work thread. */
import { createContext, Script } from 'node:vm';

/** An expression can go through a text for ever, and only so can it be stopped. */
const timeoutMs = 1000;
const search = new Script("new RegExp(pattern, 'u').exec(text)?.[1]");

export interface PatternTask {
  readonly patterns: readonly string[];
  readonly text: string;
}

/** The first group of each pattern in the text; none for a pattern that takes too long. */
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
