import type { Kysely } from 'kysely';

/**
 * An index of each tenant's keys in the order of their references, so that a page is read without
 * sorting.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.createIndex('keys_tenant_reference').on('keys').columns(['tenant', 'reference']).execute();
}
