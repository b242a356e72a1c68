import { sql, type Kysely } from 'kysely';
import { isPostgresql } from './dialect.ts';

/**
 * Attempts in flight, counted in the database for all instances; and, on PostgreSQL, the feed of
 * changes that keeps their caches current.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('keys')
    .addColumn('reserved', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable('keys').addColumn('reserved_until', 'bigint').execute();
  if (!isPostgresql(db)) return;
  await sql`
    create table changes (
      transaction_id xid8 not null default pg_current_xact_id(),
      table_name text not null,
      row_id text not null,
      created_at timestamptz not null default now()
    )`.execute(db);
  await sql`create index changes_transaction_id on changes (transaction_id)`.execute(db);
  await sql`create index changes_created_at on changes (created_at)`.execute(db);
  // Triggers rather than statements of the repositories, so that no change is missed, including
  // manual ones.
  await sql`
    create function note_change() returns trigger language plpgsql as $$
    begin
      insert into changes (table_name, row_id)
      values (tg_table_name, case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end ->> tg_argv[0]);
      return null;
    end $$`.execute(db);
  await sql`
    create trigger clients_change after insert or update or delete on clients
    for each row execute function note_change('spki_sha256')`.execute(db);
  // A new key is in no cache. Reserving an attempt changes nothing that a cache holds.
  await sql`
    create trigger keys_change after update on keys for each row
    when (to_jsonb(old) - 'reserved' - 'reserved_until' is distinct from to_jsonb(new) - 'reserved' - 'reserved_until')
    execute function note_change('reference')`.execute(db);
  await sql`create trigger keys_removal after delete on keys for each row execute function note_change('reference')`.execute(db);
}
