import type { Kysely } from 'kysely';

/**
 * When the newest known certificate of a client begins and ends, for reminders; null for clients
 * that were registered before.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('clients').addColumn('not_before', 'bigint').execute();
  await db.schema.alterTable('clients').addColumn('not_after', 'bigint').execute();
}
