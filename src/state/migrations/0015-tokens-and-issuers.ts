import type { Kysely } from 'kysely';

/**
 * Used tokens of identity providers, until they expire; and the chain that each certificate was
 * issued under.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('identity_tokens')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('ends_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('identity_tokens_ends_at').on('identity_tokens').column('ends_at').execute();
  await db.schema
    .createTable('issuing_chains')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('der', 'blob', (column) => column.notNull())
    .execute();
  await db.schema.alterTable('certificates').addColumn('issuing_chain', 'text').execute();
}
