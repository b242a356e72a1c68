import { findKeyView } from '../../admin/key-view.ts';
import { AdminRequest } from '../../admin/protocol.ts';
import { KeyView } from '../../admin/views.ts';
import { CommandError, exitCodes } from '../exit-codes.ts';
import type { Outcome } from '../outcome.ts';
import { look } from '../service.ts';
import { fields } from '../table.ts';

/** `key show`: what is known of a key, its secret apart. */
export async function keyShow(configPath: string, given: string): Promise<Outcome> {
  const reference = given.toLowerCase();
  const request = AdminRequest.safeParse({ command: 'key show', reference });
  if (!request.success) throw new CommandError(exitCodes.usage, 'a key is named by its reference: 40 hexadecimal digits');
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
