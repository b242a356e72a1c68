import { AdminRequest } from '../../admin/protocol.ts';
import { ClientView } from '../../admin/views.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { ask } from '../service.ts';
import { clientFields } from './words.ts';

/** `client revoke`: when it returns, nothing more is signed for the client. */
export async function clientRevoke(configPath: string, client: string): Promise<Outcome> {
  const parsed = AdminRequest.safeParse({ command: 'client revoke', client });
  if (!parsed.success)
    throw new CommandError(exitCodes.usage, 'a client is named by its name, or by the 64 hexadecimal digits of its public key');
  const { result, notes } = await ask(configPath, parsed.data, ClientView);
  return { json: result, text: `The client is revoked: no instance answers it any more.\n${clientFields(result)}`, notes };
}
