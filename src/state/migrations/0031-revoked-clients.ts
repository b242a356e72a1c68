import type { Kysely } from 'kysely';

/** Clients that were revoked, by public key: such a key is registered again only if an operator says so. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('revoked_clients')
    .addColumn('spki_sha256', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('registered_at', 'bigint', (column) => column.notNull())
    .addColumn('revoked_at', 'bigint', (column) => column.notNull())
    .addColumn('not_after', 'bigint')
    .execute();
}
