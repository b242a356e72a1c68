import type { Kysely } from 'kysely';

/**
 * Kept answers that last as long as a one-time password is open; and the limit on a tenant's keys,
 * which also holds for concurrent creations.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('kept_answers').addColumn('while_otp', 'text').execute();
  await db.schema.createIndex('keys_tenant_state').on('keys').columns(['tenant', 'state']).execute();
  await db.schema
    .createTable('limited_tenants')
    .addColumn('tenant', 'text', (column) => column.primaryKey())
    .addColumn('creations', 'bigint', (column) => column.notNull())
    .execute();
}
