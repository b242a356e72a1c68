import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { AuditHeadRow, AuditKeyRow } from '../tables/audit.ts';
import { findServiceKey, takeServiceKey } from './service-keys.ts';

/** The keys of checkpoints, the newest first. */
export async function auditKeys(db: Transaction<Schema>): Promise<AuditKeyRow[]> {
  return db.selectFrom('audit_keys').selectAll().orderBy('created_at', 'desc').execute();
}

const purpose = 'audit checkpoints';

/** CKA_ID of the key that signs checkpoints; of stores from before it was named, the newest. */
export async function findAuditKey(db: Transaction<Schema>): Promise<string | undefined> {
  return (await findServiceKey(db, purpose)) ?? (await auditKeys(db))[0]?.key_id;
}

/**
 * Takes a key that was just made, as `takeServiceKey` does, and keeps its public half. Returns the
 * key that counts.
 */
export async function takeAuditKey(
  db: Transaction<Schema>,
  { replaces, ...key }: AuditKeyRow & { replaces: string | undefined },
): Promise<string> {
  const { key_id: keyId, created_at: createdAt } = key;
  const taken = await takeServiceKey(db, { purpose, key_id: keyId, created_at: createdAt, replaces });
  if (taken === keyId) await db.insertInto('audit_keys').values(key).execute();
  return taken;
}

export async function auditHead(db: Transaction<Schema>, log: string): Promise<AuditHeadRow | undefined> {
  return db.selectFrom('audit_heads').selectAll().where('log', '=', log).executeTakeFirst();
}

/** Names the store's place in a log. It goes on, and never back. */
export async function keepAuditHead(db: Transaction<Schema>, head: AuditHeadRow): Promise<void> {
  const { records, hash, file } = head;
  await db
    .insertInto('audit_heads')
    .values(head)
    .onConflict((conflict) => conflict.column('log').doUpdateSet({ records, hash, file }).where('audit_heads.records', '<', records))
    .execute();
}
