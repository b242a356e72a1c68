import type { Transaction } from 'kysely';
import type { Schema } from '../schema.ts';
import type { AuditOutboxRow } from '../tables/audit.ts';

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
