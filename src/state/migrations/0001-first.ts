import { sql, type Kysely } from 'kysely';
import { isPostgresql } from './dialect.ts';

/** Clients, keys, certificates, and the journal of key creation and destruction. */
export async function up(db: Kysely<unknown>): Promise<void> {
  // The SQLite name for bytes is used for both databases.
  if (isPostgresql(db)) await sql`create domain blob as bytea`.execute(db);
  await db.schema
    .createTable('clients')
    .addColumn('spki_sha256', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('roles', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('certificates')
    .addColumn('sha1', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('authority', 'text', (column) => column.notNull())
    .addColumn('serial_number', 'text', (column) => column.notNull())
    .addColumn('der', 'blob', (column) => column.notNull())
    .addColumn('not_before', 'bigint', (column) => column.notNull())
    .addColumn('not_after', 'bigint', (column) => column.notNull())
    .addUniqueConstraint('certificates_authority_serial_number', ['authority', 'serial_number'])
    .execute();
  await db.schema
    .createTable('keys')
    .addColumn('reference', 'text', (column) => column.primaryKey().references('certificates.sha1'))
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull().unique())
    .addColumn('key_type', 'text', (column) => column.notNull())
    .addColumn('protocol', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('secret_salt', 'blob', (column) => column.notNull())
    .addColumn('secret_mac', 'blob', (column) => column.notNull())
    .addColumn('failures_in_row', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('failures_since_success', 'integer', (column) => column.notNull().defaultTo(0))
    .addColumn('locked_until', 'bigint')
    .addColumn('subscriber_email', 'text')
    .addColumn('subscriber_phone', 'text')
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('key_journal')
    .addColumn('key_id', 'text', (column) => column.primaryKey())
    .addColumn('intent', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
}
