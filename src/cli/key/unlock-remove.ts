import { AdminRequest } from '../../admin/protocol.ts';
import { KeyView } from '../../admin/views.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { ask } from '../service.ts';

/** `key unlock`: a locked key has all its attempts again. */
export async function keyUnlock(configPath: string, given: string): Promise<Outcome> {
  const { key, notes } = await askFor(configPath, 'key unlock', given);
  return { json: key, text: `The key has all its attempts again; its state is ${key.state}.`, notes };
}

/** `key remove`: the private key is destroyed. */
export async function keyRemove(configPath: string, given: string): Promise<Outcome> {
  const { key, notes } = await askFor(configPath, 'key remove', given);
  return { json: key, text: 'The private key is destroyed; the certificate stays.', notes };
}

async function askFor(
  configPath: string,
  command: 'key unlock' | 'key remove',
  given: string,
): Promise<{ key: KeyView; notes: readonly string[] }> {
  const request = AdminRequest.safeParse({ command, reference: given.toLowerCase() });
  if (!request.success) throw new CommandError(exitCodes.usage, 'a key is named by its reference: 40 hexadecimal digits');
  const { result, notes } = await ask(configPath, request.data, KeyView);
  return { key: result, notes };
}
