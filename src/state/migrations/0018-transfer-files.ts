import type { Kysely } from 'kysely';

/** The files of the transfer store, and the share of each tenant. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('transfer_files')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('owner', 'text', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('media_type', 'text', (column) => column.notNull())
    .addColumn('file_name', 'text')
    .addColumn('sha256', 'text')
    .addColumn('ends_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('transfer_files_ends').on('transfer_files').columns(['state', 'ends_at']).execute();
  await db.schema
    .createTable('transfer_shares')
    .addColumn('tenant', 'text', (column) => column.primaryKey())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addColumn('files', 'bigint', (column) => column.notNull())
    .execute();
}
