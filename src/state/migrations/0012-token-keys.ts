import { sql, type Kysely } from 'kysely';
import { isPostgresql } from './dialect.ts';

/**
 * The check value of the token's MAC key, and the claim to make one; instances that share the store
 * are notified of new service keys.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('mac_key')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('check_value', 'blob')
    .addColumn('claim', 'text')
    .addColumn('claimed_until', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  if (!isPostgresql(db)) return;
  await sql`
    create trigger service_keys_change after insert or update or delete on service_keys
    for each row execute function note_change('purpose')`.execute(db);
}
