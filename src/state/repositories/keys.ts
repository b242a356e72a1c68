import type { Transaction } from 'kysely';
import type { CertificateRow, KeyRow, Schema } from '../schema.ts';
import { announce } from './key-journal.ts';

/** A key with its certificate, as every use of the key needs both. */
export type KeyWithCertificate = KeyRow & { readonly der: Uint8Array; readonly not_after: number };

export async function findKey(db: Transaction<Schema>, reference: string): Promise<KeyWithCertificate | undefined> {
  return db
    .selectFrom('keys')
    .innerJoin('certificates', 'certificates.sha1', 'keys.reference')
    .selectAll('keys')
    .select(['certificates.der', 'certificates.not_after'])
    .where('keys.reference', '=', reference)
    .executeTakeFirst();
}

/**
 * The key exists from this commit on: its record, its certificate, and the end of its journal entry.
 * @throws {Error} where the entry is gone: somebody took the key for abandoned, and it is not on the token any more
 */
export async function insertKey(
  db: Transaction<Schema>,
  { key, certificate }: { key: KeyRow; certificate: CertificateRow },
): Promise<void> {
  const announced = await db
    .deleteFrom('key_journal')
    .where('key_id', '=', key.key_id)
    .where('intent', '=', 'CREATE')
    .returning('key_id')
    .executeTakeFirst();
  if (announced === undefined) throw new Error(`the creation of key ${key.key_id} is not announced any more`);
  await db.insertInto('certificates').values(certificate).execute();
  await db.insertInto('keys').values(key).execute();
}

/** Where a key goes from one state to another. An end announces the destruction on the token. */
export interface StateChange {
  readonly reference: string;
  readonly from: readonly string[];
  readonly to: string;
  readonly destroys: boolean;
  readonly now: number;
}

/** Changes the state, in one commit with the announcement of what follows. False where the key is in none of the states it may come from. */
export async function changeKeyState(db: Transaction<Schema>, { reference, from, to, destroys, now }: StateChange): Promise<boolean> {
  const row = await db
    .updateTable('keys')
    .set({ state: to })
    .where('reference', '=', reference)
    .where('state', 'in', from)
    .returning('key_id')
    .executeTakeFirst();
  if (row === undefined) return false;
  if (destroys) await announce(db, { key_id: row.key_id, intent: 'DESTROY', created_at: now });
  return true;
}
