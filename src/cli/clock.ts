import { ClockConfirmedView } from '../admin/views.ts';
import type { Outcome } from './outcome.ts';
import { ask } from './service.ts';

/** `clock confirm`: lets a waiting service go on although its clock is behind the newest audit record. */
export async function clockConfirm(configPath: string): Promise<Outcome> {
  const { result, notes } = await ask(configPath, { command: 'clock confirm' }, ClockConfirmedView);
  return {
    json: result,
    text:
      `The clock shows ${result.clock}, and the newest audit record is of ${result.newestRecord}: the clock is taken to be right.\n` +
      'signetd is shutting down; it is ready once its supervisor has restarted it.\n',
    notes,
  };
}
