import { sql, type Kysely } from 'kysely';
import { isPostgresql } from './dialect.ts';

/**
 * Several MAC keys: the row of key n has the id n + 1. `destroyed_at`: when its destruction began.
 * `secret_former_mac`: the MAC of the same password under a former MAC key.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.alterTable('mac_key').addColumn('destroyed_at', 'bigint').execute();
  for (const table of ['keys', 'identity_keys']) await db.schema.alterTable(table).addColumn('secret_former_mac', 'blob').execute();
  if (!isPostgresql(db)) return;
  await sql`
    create trigger mac_key_change after insert or update on mac_key
    for each row execute function note_change('id')`.execute(db);
}
