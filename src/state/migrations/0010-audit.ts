import type { Kysely } from 'kysely';

/** The keys that sign checkpoints of the audit log, and the last checkpoint of each log. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('audit_keys')
    .addColumn('key_id', 'text', (column) => column.primaryKey())
    .addColumn('public_key', 'blob', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('audit_heads')
    .addColumn('log', 'text', (column) => column.primaryKey())
    .addColumn('records', 'bigint', (column) => column.notNull())
    .addColumn('hash', 'text', (column) => column.notNull())
    .addColumn('file', 'integer', (column) => column.notNull())
    .execute();
}
