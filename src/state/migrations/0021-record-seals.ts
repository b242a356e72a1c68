import { sql, type Kysely } from 'kysely';

/**
 * The seals of keys, of one-time passwords and of pooled keys. Existing rows get no seal, since
 * this would also seal any earlier tampering: callers' existing keys are refused from now on, open
 * one-time passwords end, and pooled keys are destroyed.
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
