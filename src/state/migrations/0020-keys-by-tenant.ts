import type { Kysely } from 'kysely';

/**
 * The keys of a tenant in the order of their references: a page of them is read as it stands, and
 * nothing is sorted for it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex('keys_tenant_reference').on('keys').columns(['tenant', 'reference']).execute();
}
