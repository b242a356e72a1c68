import { sql, type Kysely } from 'kysely';
import { isPostgresql } from './dialect.ts';

/** Keys of digital identities of 2D-Doc, with the counters and seals that callers' keys have. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('identity_keys')
    .addColumn('reference', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('ca', 'text', (column) => column.notNull())
    .addColumn('certificate_id', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull().unique())
    .addColumn('key_type', 'text', (column) => column.notNull())
    .addColumn('public_key', 'blob', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('secret_salt', 'blob', (column) => column.notNull())
    .addColumn('secret_mac', 'blob', (column) => column.notNull())
    .addColumn('secret_stretched', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('failures_in_row', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('failures_since_success', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('locked_until', 'bigint')
    .addColumn('reserved', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('reserved_until', 'bigint')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('seal_salt', 'blob')
    .addColumn('seal_mac', 'blob')
    .execute();
  // A removed key leaves its place to another one.
  await sql`create unique index identity_keys_names on identity_keys (tenant, ca, certificate_id) where state = 'ACTIVE'`.execute(db);
  if (!isPostgresql(db)) return;
  // Reserving an attempt changes nothing that a cache holds.
  await sql`
    create trigger identity_keys_change after update on identity_keys for each row
    when (to_jsonb(old) - 'reserved' - 'reserved_until' is distinct from to_jsonb(new) - 'reserved' - 'reserved_until')
    execute function note_change('reference')`.execute(db);
  await sql`create trigger identity_keys_removal after delete on identity_keys for each row execute function note_change('reference')`.execute(
    db,
  );
}
