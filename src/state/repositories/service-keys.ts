import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { ServiceKeyRow } from '../tables/token-keys.ts';
import { finishCreation, noteDestruction } from './key-journal.ts';

/** CKA_ID of the service's key for a purpose. */
export async function findServiceKey(db: Transaction<Schema>, purpose: string): Promise<string | undefined> {
  const row = await db.selectFrom('service_keys').select('key_id').where('purpose', '=', purpose).executeTakeFirst();
  return row?.key_id;
}

/**
 * Takes a key that was just made for a purpose, and ends its journal entry, unless another instance
 * was faster. Returns the key that counts. `replaces`: the key that was lost, if one was; whatever
 * is left of it is announced for its destruction.
 * @throws as `finishCreation`
 */
export async function takeServiceKey(
  db: Transaction<Schema>,
  { replaces, ...row }: ServiceKeyRow & { replaces: string | undefined },
): Promise<string> {
  const { purpose, key_id: keyId, created_at: createdAt } = row;
  const taken = await db
    .insertInto('service_keys')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .column('purpose')
        .doUpdateSet({ key_id: keyId, created_at: createdAt })
        .where('service_keys.key_id', '=', replaces ?? ''),
    )
    .returning('key_id')
    .executeTakeFirst();
  if (taken !== undefined) {
    await finishCreation(db, keyId);
    if (replaces !== undefined) await noteDestruction(db, replaces, createdAt);
    return keyId;
  }
  const other = await findServiceKey(db, purpose);
  if (other === undefined) throw new Error(`no key for ${purpose}`);
  return other;
}
