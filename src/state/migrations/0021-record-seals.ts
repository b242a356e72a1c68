import { sql, type Kysely } from 'kysely';

/**
 * The seals of keys, of one-time passwords and of keys that were made ahead. What was made before
 * has none and gets none here, or a change before this would be sealed with the rest: the keys of
 * callers are refused from now on, open one-time passwords end, and the pool's keys are destroyed.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ['keys', 'otps', 'key_pool']) {
    await db.schema.alterTable(table).addColumn('seal_salt', 'blob').execute();
    await db.schema.alterTable(table).addColumn('seal_mac', 'blob').execute();
  }
  await sql`delete from otps`.execute(db);
  await sql`insert into key_journal (key_id, intent, created_at) select key_id, 'CREATE', 0 from key_pool`.execute(db);
  await sql`delete from key_pool`.execute(db);
  await sql`create index keys_unsealed on keys (reference) where seal_mac is null`.execute(db);
}
