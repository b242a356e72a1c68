import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { ServiceKeyRow } from '../tables/token-keys.ts';
import { finishCreation, noteDestruction } from './key-journal.ts';

/** Returns the CKA_ID of the service key for a purpose. */
export async function findServiceKey(db: Transaction<Schema>, purpose: string): Promise<string | undefined> {
  const row = await db.selectFrom('service_keys').select('key_id').where('purpose', '=', purpose).executeTakeFirst();
  return row?.key_id;
}

/**
 * Registers a new service key for a purpose and ends its journal entry, unless another instance was
 * faster. Returns the key in force. `replaces`: the lost key, if any; its remains are announced for
 * destruction.
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
