import { z } from 'zod';
import { PrunedView } from '../../admin/views.ts';
import type { Outcome } from '../outcome.ts';
import { ask } from '../service.ts';
import { timeOption } from './time-option.ts';

export const PruneOptions = z.object({ before: z.string(), confirm: z.literal(true) });
type PruneOptions = z.output<typeof PruneOptions>;

/** `audit prune`: has the service remove old files of its log. */
export async function auditPrune(configPath: string, { before }: PruneOptions): Promise<Outcome> {
  const request = { command: 'audit prune', before: Math.max(0, timeOption('--before', before)) } as const;
  const { result, notes } = await ask(configPath, request, PrunedView);
  const { files, last } = result;
  return {
    json: result,
    text:
      last === null
        ? 'No file of the log is that old.\n'
        : `Removed ${files.length} files, ${files[0] ?? ''} to ${files.at(-1) ?? ''}, with the records up to ${last.record} of ${last.time}.\n`,
    notes,
  };
}
