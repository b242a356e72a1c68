import type { Command } from 'commander';
import { z } from 'zod';
import type { Outcome } from './outcome.ts';

/**
 * Sets the action of a command, which receives its own options and its arguments by their names,
 * parsed. Its module is loaded when it runs: no command waits for the modules of all the others.
 */
export type Runs = <M, S extends z.ZodType>(
  command: Command,
  load: () => Promise<M>,
  actionOf: (module: M) => readonly [options: S, run: (configPath: string, options: z.output<S>) => Promise<Outcome>],
) => void;

/** Of a command that has none. */
export const NoOptions = z.object({});
