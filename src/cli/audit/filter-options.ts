import { z } from 'zod';
import { outcomeFilter, type RecordFilter } from '../../audit/record-filter.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import { timeOption } from './time-option.ts';

/** The options that choose records, of `audit find` and `audit export`. */
export const FilterOptions = {
  since: z.string().optional(),
  until: z.string().optional(),
  client: z.string().optional(),
  tenant: z.string().optional(),
  key: z.string().optional(),
  outcome: z.string().optional(),
};
const Options = z.object({ request: z.string().optional(), ...FilterOptions });

export type TimeRange = Pick<RecordFilter, 'since' | 'until'>;

/** Returns the records that the options choose. @throws {CommandError} for options that are wrong */
export function filterOf(options: z.output<typeof Options>): RecordFilter {
  const { request, client, tenant, key } = options;
  const since = options.since === undefined ? undefined : timeOption('--since', options.since);
  const until = options.until === undefined ? undefined : timeOption('--until', options.until);
  if (since !== undefined && until !== undefined && since >= until)
    throw new CommandError(exitCodes.usage, '--until must be later than --since');
  const outcome = options.outcome === undefined ? undefined : outcomeFilter(options.outcome);
  if (options.outcome !== undefined && outcome === undefined)
    throw new CommandError(exitCodes.usage, '--outcome takes success, refused, a result such as 2/202, or a status such as 503');
  return { since, until, request, client, tenant, key: key?.toLowerCase(), outcome };
}
