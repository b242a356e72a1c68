import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Mutant } from './mutations.ts';

const Outcome = z.object({
  id: z.string(),
  room: z.string(),
  file: z.string(),
  line: z.number(),
  lineText: z.string(),
  change: z.string(),
  /** `refused`: the compiler does not take it. */
  outcome: z.enum(['killed', 'timed out', 'refused', 'survived']),
  /** The test file that noticed it. */
  by: z.string().optional(),
  /** Test files that were asked. */
  tests: z.number(),
});

export type Outcome = z.infer<typeof Outcome>;

/** What became of mutants, kept in a file: a line each, of which the last counts. */
export class Outcomes {
  readonly #path: string;
  readonly #known = new Map<string, Outcome>();

  constructor(path: string) {
    this.#path = path;
    mkdirSync(dirname(path), { recursive: true });
    if (!existsSync(path)) return;
    for (const line of readFileSync(path, 'utf8').split('\n')) {
      if (line === '') continue;
      const outcome = Outcome.parse(JSON.parse(line));
      this.#known.set(outcome.id, outcome);
    }
  }

  get({ id }: Pick<Mutant, 'id'>): Outcome | undefined {
    return this.#known.get(id);
  }

  keep(outcome: Outcome): void {
    this.#known.set(outcome.id, outcome);
    appendFileSync(this.#path, `${JSON.stringify(outcome)}\n`);
  }
}
