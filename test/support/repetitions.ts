import { z } from 'zod';

const factor = z.coerce.number().int().positive().default(1).parse(process.env['SIGNETD_ROUNDS']);

/** Returns how often a long test repeats what it tries: the number given, which every run of `.ci/run` can afford, times `SIGNETD_ROUNDS`. */
export function repetitions(once: number): number {
  return once * factor;
}
