import { sql, type Transaction } from 'kysely';
import type { Schema } from '../schema.ts';

/** Whether the store takes writes: readiness asks. */
export async function probe(db: Transaction<Schema>): Promise<void> {
  await sql`update key_journal set created_at = created_at where key_id = ''`.execute(db);
}
