import { z } from 'zod';

/** Undefined in `npm test`. */
export const rounds = z.coerce.number().int().positive().optional().parse(process.env['SIGNETD_ROUNDS']);

/** Whether this is `npm run test:long`. */
export const isLongRun = rounds !== undefined;

/**
 * Returns how often a test repeats what it tries: `all` in one run of all checks, that number times `SIGNETD_ROUNDS` in
 * `npm run test:long`, and a few in `npm test`.
 */
export function repetitions(all: number, few = Math.ceil(all / 10)): number {
  return rounds === undefined ? few : all * rounds;
}
