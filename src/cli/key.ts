import { z } from 'zod';
import { keyPage, findKeyView } from '../admin/key-view.ts';
import { AdminRequest } from '../admin/protocol.ts';
import { KeyPage, KeyView } from '../admin/views.ts';
import { CommandError, exitCodes } from './exit-codes.ts';
import type { Outcome } from './outcome.ts';
import { look, ask } from './service.ts';
import { table, fields } from './table.ts';
import { checkTenant } from './tenant.ts';

export const KeyListOptions = z.object({ tenant: z.string().optional() });
export type KeyListOptions = z.output<typeof KeyListOptions>;
export const KeyReference = z.object({ reference: z.string() });
type KeyReference = z.output<typeof KeyReference>;

/** `key list`: the callers' keys, fetched page by page. */
export async function keyList(configPath: string, { tenant }: KeyListOptions): Promise<Outcome> {
  const keys: KeyView[] = [];
  const notes = new Set<string>();
  for (let after: string | undefined, more = true; more; after = keys.at(-1)?.reference) {
    const where = { ...(tenant === undefined ? {} : { tenant }), ...(after === undefined ? {} : { after }) };
    const request = AdminRequest.safeParse({ command: 'key list', ...where });
    if (!request.success) throw new CommandError(exitCodes.usage, '--tenant takes the name of a tenant');
    const page = await look(configPath, request.data, { schema: KeyPage, read: async (store) => keyPage(store, where) });
    keys.push(...page.result.keys);
    for (const note of page.notes) notes.add(note);
    more = page.result.more;
  }
  // Tells an empty list from a mistyped tenant. Keys of a tenant that is no longer configured are
  // listed.
  if (keys.length === 0 && tenant !== undefined) checkTenant(configPath, tenant, 'is configured or has keys');
  const rows = keys.map(({ reference, tenant: owner, type, protocol, state, notAfter, subject }) => [
    ...[reference, owner, type, protocol, state, notAfter],
    subject,
  ]);
  return { json: keys, text: table(['REFERENCE', 'TENANT', 'TYPE', 'PROTOCOL', 'STATE', 'NOT AFTER', 'SUBJECT'], rows), notes: [...notes] };
}

/** `key show`: everything known about a key except its secret. */
export async function keyShow(configPath: string, given: KeyReference): Promise<Outcome> {
  const reference = given.reference.toLowerCase();
  const request = AdminRequest.safeParse({ command: 'key show', reference });
  if (!request.success) throw new CommandError(exitCodes.usage, "give the key's reference: 40 hexadecimal digits");
  const { result: key, notes } = await look(configPath, request.data, {
    schema: KeyView,
    read: async (store) => findKeyView(store, reference),
  });
  const text = fields([
    ['reference', key.reference],
    ['tenant', key.tenant],
    ['type', key.type],
    ['protocol', key.protocol],
    ['state', key.lockedUntil === null ? key.state : `${key.state} until ${key.lockedUntil}`],
    ['subject', key.subject],
    ['created', key.created],
    ['not after', key.notAfter],
    ['attempts left', String(key.remainingAttempts)],
    ['failures since the last success', String(key.failuresSinceSuccess)],
    ['CKA_ID', key.tokenId],
  ]);
  return { json: key, text, notes };
}

/** `key unlock`: unlocks a key and resets its attempts. */
export async function keyUnlock(configPath: string, given: KeyReference): Promise<Outcome> {
  const { key, notes } = await askFor(configPath, 'key unlock', given);
  return { json: key, text: `The key's attempts are reset; its state is ${key.state}.`, notes };
}

/** `key remove`: destroys the private key. */
export async function keyRemove(configPath: string, given: KeyReference): Promise<Outcome> {
  const { key, notes } = await askFor(configPath, 'key remove', given);
  return { json: key, text: 'Private key destroyed; the certificate remains.', notes };
}

async function askFor(
  configPath: string,
  command: 'key unlock' | 'key remove',
  { reference }: KeyReference,
): Promise<{ key: KeyView; notes: readonly string[] }> {
  const request = AdminRequest.safeParse({ command, reference: reference.toLowerCase() });
  if (!request.success) throw new CommandError(exitCodes.usage, "give the key's reference: 40 hexadecimal digits");
  const { result, notes } = await ask(configPath, request.data, KeyView);
  return { key: result, notes };
}
