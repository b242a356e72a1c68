import { CommandError, exitCodes } from '../exit-codes.ts';

/**
 * Parses a time of the command line: a date (midnight UTC), or a date and a time with its zone (RFC
 * 3339). Returns milliseconds since the epoch.
 * @throws {CommandError}
 */
export function timeOption(option: string, text: string): number {
  const isTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/.test(text);
  const time = isTime ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time))
    throw new CommandError(exitCodes.usage, `${option} takes a date, such as 2026-03-02 (UTC), or a time, such as 2026-03-02T10:15:00Z`);
  return time;
}
