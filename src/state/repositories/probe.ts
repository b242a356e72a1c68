import { randomUUID } from 'node:crypto';
import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';

/**
 * Checks that the store can be written, for readiness. A row is inserted and deleted in one
 * transaction, so that there is an actual write.
 */
export async function probe(db: Transaction<Schema>): Promise<void> {
  const id = `probe-${randomUUID()}`;
  await db.insertInto('key_journal').values({ key_id: id, intent: 'CREATE', created_at: 0 }).execute();
  await db.deleteFrom('key_journal').where('key_id', '=', id).execute();
}
