import type { Transaction } from 'kysely';
import { Fault } from '../../faults.ts';
import type { Schema } from '../schema.ts';
import type { IdentityKeyRow } from '../tables/identity-keys.ts';
import { announce, finishCreation } from './key-journal.ts';

/** What names the key of a digital identity; at most one key in use has these names. */
export type IdentityNames = Pick<IdentityKeyRow, 'tenant' | 'ca' | 'certificate_id'>;

/** Returns the key in use that has these names. */
export async function findIdentityKey(db: Transaction<Schema>, names: IdentityNames): Promise<IdentityKeyRow | undefined> {
  return db
    .selectFrom('identity_keys')
    .selectAll()
    .where('tenant', '=', names.tenant)
    .where('ca', '=', names.ca)
    .where('certificate_id', '=', names.certificate_id)
    .where('state', '=', 'ACTIVE')
    .executeTakeFirst();
}

/** Returns a key, in use or removed. */
export async function identityKeyAt(db: Transaction<Schema>, reference: string): Promise<IdentityKeyRow | undefined> {
  return db.selectFrom('identity_keys').selectAll().where('reference', '=', reference).executeTakeFirst();
}

/** Returns all keys in use, in the order of their names. */
export async function listIdentityKeys(db: Transaction<Schema>): Promise<IdentityKeyRow[]> {
  return db
    .selectFrom('identity_keys')
    .selectAll()
    .where('state', '=', 'ACTIVE')
    .orderBy('tenant')
    .orderBy('ca')
    .orderBy('certificate_id')
    .execute();
}

/**
 * Inserts a key and removes its journal entry.
 * @throws as `finishCreation`; {Fault} IDENTITY_TAKEN if another key in use has the same names
 */
export async function insertIdentityKey(db: Transaction<Schema>, key: IdentityKeyRow): Promise<void> {
  await finishCreation(db, key.key_id);
  if ((await findIdentityKey(db, key)) !== undefined) throw new Fault('IDENTITY_TAKEN');
  await db.insertInto('identity_keys').values(key).execute();
}

/**
 * Removes a key, in one commit with the announcement of its destruction on the token. Returns false
 * if it is not in use.
 */
export async function removeIdentityKey(
  db: Transaction<Schema>,
  { reference, now }: { readonly reference: string; readonly now: number },
): Promise<boolean> {
  const keyId = await endIdentityKey(db, reference);
  if (keyId === undefined) return false;
  await announce(db, { key_id: keyId, intent: 'DESTROY', created_at: now });
  return true;
}

/** Puts a key out of use. Returns its identifier on the token; undefined if it was not in use. */
export async function endIdentityKey(db: Transaction<Schema>, reference: string): Promise<string | undefined> {
  const row = await db
    .updateTable('identity_keys')
    .set({ state: 'REMOVED' })
    .where('reference', '=', reference)
    .where('state', '=', 'ACTIVE')
    .returning('key_id')
    .executeTakeFirst();
  return row?.key_id;
}
