import type { Kysely } from 'kysely';

/** Audit records that are not yet in the chain. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('audit_outbox')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('record', 'text', (column) => column.notNull())
    .execute();
}
