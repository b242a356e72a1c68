import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { AuditHeadRow, AuditKeyRow, AuditOutboxRow } from '../tables/audit.ts';
import { findServiceKey, takeServiceKey } from './service-keys.ts';

/** Returns the keys of checkpoints, newest first. */
export async function auditKeys(db: Transaction<Schema>): Promise<AuditKeyRow[]> {
  return db.selectFrom('audit_keys').selectAll().orderBy('created_at', 'desc').execute();
}

const purpose = 'audit checkpoints';

/**
 * Returns the CKA_ID of the key that signs checkpoints; for stores from before it was recorded,
 * that of the newest key.
 */
export async function findAuditKey(db: Transaction<Schema>): Promise<string | undefined> {
  return (await findServiceKey(db, purpose)) ?? (await auditKeys(db))[0]?.key_id;
}

/**
 * Registers a new key, as `takeServiceKey` does, and stores its public key. Returns the key in
 * force.
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

/** Returns the store's positions in all logs: those of every instance, and under earlier names. */
export async function auditHeads(db: Transaction<Schema>): Promise<AuditHeadRow[]> {
  return db.selectFrom('audit_heads').selectAll().orderBy('log').execute();
}

/** Replaces the store's position in a log, which the operator has confirmed. */
export async function replaceAuditHead(db: Transaction<Schema>, { log, records, hash, file }: AuditHeadRow): Promise<void> {
  await db
    .insertInto('audit_heads')
    .values({ log, records, hash, file })
    .onConflict((conflict) => conflict.column('log').doUpdateSet({ records, hash, file }))
    .execute();
}

/** Stores the store's position in a log. It only moves forward. */
export async function keepAuditHead(db: Transaction<Schema>, head: AuditHeadRow): Promise<void> {
  const { records, hash, file } = head;
  await db
    .insertInto('audit_heads')
    .values(head)
    .onConflict((conflict) => conflict.column('log').doUpdateSet({ records, hash, file }).where('audit_heads.records', '<', records))
    .execute();
}

/** Stores an audit record, in the commit of the change that it describes. */
export async function addAuditRecord(db: Transaction<Schema>, row: AuditOutboxRow): Promise<void> {
  await db.insertInto('audit_outbox').values(row).execute();
}

/**
 * Returns the oldest records that are not known to be in the chain; those of one instance by the
 * prefix of their identifiers (which contains no wildcards).
 */
export async function listAuditRecords(
  db: Transaction<Schema>,
  { limit, idPrefix = '' }: { limit: number; idPrefix?: string },
): Promise<AuditOutboxRow[]> {
  const rows = db.selectFrom('audit_outbox').selectAll().where('id', 'like', `${idPrefix}%`);
  return rows.orderBy('created_at').orderBy('id').limit(limit).execute();
}

/** Deletes records that are in the chain, on disk. */
export async function deleteAuditRecords(db: Transaction<Schema>, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await db.deleteFrom('audit_outbox').where('id', 'in', ids).execute();
}
