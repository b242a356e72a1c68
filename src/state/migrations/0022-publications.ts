import type { Kysely } from 'kysely';

/** The journal of evidence to be published. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('publications')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('items', 'text', (column) => column.notNull())
    .addColumn('renamed', 'text')
    .addColumn('ends_at', 'bigint', (column) => column.notNull())
    .execute();
}
