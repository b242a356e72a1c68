import type { Kysely } from 'kysely';

/** Keys that were made in advance and have no owner yet. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('key_pool')
    .addColumn('key_id', 'text', (column) => column.primaryKey())
    .addColumn('key_type', 'text', (column) => column.notNull())
    .addColumn('public_key', 'blob', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('key_pool_key_type').on('key_pool').columns(['key_type', 'created_at']).execute();
}
