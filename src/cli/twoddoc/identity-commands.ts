import { z } from 'zod';
import { AdminRequest } from '../../admin/protocol.ts';
import { IdentityKeyView } from '../../admin/views.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { ask, type Answered } from '../service.ts';
import { checkIdentity } from './identity-options.ts';

export const NameOptions = z.object({ tenant: z.string(), ca: z.string(), certificateId: z.string() });
type NameOptions = z.output<typeof NameOptions>;

/** `twoddoc identity unlock`: unlocks the key of an identity and resets its attempts. */
export async function identityUnlock(configPath: string, options: NameOptions): Promise<Outcome> {
  const { result, notes } = await asked(configPath, 'identity unlock', options);
  return { json: result, text: `The attempts of the key are reset; it has ${result.remainingAttempts}.\n`, notes };
}

/** `twoddoc identity remove`: destroys the key of an identity. */
export async function identityRemove(configPath: string, options: NameOptions): Promise<Outcome> {
  const { result, notes } = await asked(configPath, 'identity remove', options);
  return { json: result, text: 'Private key destroyed; remove the identity from the configuration too.\n', notes };
}

async function asked(
  configPath: string,
  command: 'identity unlock' | 'identity remove',
  options: NameOptions,
): Promise<Answered<IdentityKeyView>> {
  checkIdentity(options);
  const request = AdminRequest.safeParse({ command, ...options });
  if (!request.success) throw new CommandError(exitCodes.usage, '--tenant takes the name of a tenant');
  return ask(configPath, request.data, IdentityKeyView);
}
