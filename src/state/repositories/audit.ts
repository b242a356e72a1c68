import type { Transaction } from 'kysely';
import type { AuditHeadRow, AuditKeyRow, Schema } from '../schema.ts';
import { finishStep } from './key-journal.ts';

/** The keys of checkpoints, the newest first. */
export async function auditKeys(db: Transaction<Schema>): Promise<AuditKeyRow[]> {
  return db.selectFrom('audit_keys').selectAll().orderBy('created_at', 'desc').execute();
}

/** The key exists from this commit on: its row, and the end of its journal entry. */
export async function insertAuditKey(db: Transaction<Schema>, key: AuditKeyRow): Promise<void> {
  await db.insertInto('audit_keys').values(key).execute();
  await finishStep(db, key.key_id);
}

export async function auditHead(db: Transaction<Schema>, log: string): Promise<AuditHeadRow | undefined> {
  return db.selectFrom('audit_heads').selectAll().where('log', '=', log).executeTakeFirst();
}

export async function keepAuditHead(db: Transaction<Schema>, head: AuditHeadRow): Promise<void> {
  const { records, hash, file } = head;
  await db
    .insertInto('audit_heads')
    .values(head)
    .onConflict((conflict) => conflict.column('log').doUpdateSet({ records, hash, file }))
    .execute();
}
