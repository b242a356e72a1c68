import { ConfirmedView } from '../../admin/views.ts';
import type { Outcome } from '../outcome.ts';
import { ask } from '../service.ts';

/** `state confirm`: goes on with a state store that is older than the audit log. */
export async function stateConfirm(configPath: string): Promise<Outcome> {
  const { result, notes } = await ask(configPath, { command: 'state confirm' }, ConfirmedView);
  const { from, to, applied, lost } = result;
  return {
    json: result,
    text:
      `The state store goes on from record ${to} of the audit log. Of records ${from} to ${to}, ${applied} changes are made again or not needed, ${lost} are lost.\n` +
      'signetd ends now: whoever keeps it running starts it again, and it is ready then.\n',
    notes,
  };
}
