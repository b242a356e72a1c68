import { sql, type Kysely } from 'kysely';
import { isPostgresql } from './dialect.ts';

const kept = 'reference, action, otp_id, salt, mac, bound_digests, attempts_left, reserved_until, expires_at, seal_salt, seal_mac';

/**
 * Signature activation data, in the table of one-time passwords: a key has any number of them, so
 * only one-time passwords are unique by key and action.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  // Other instances still run: a password that one of them uses up after the copy would be in it.
  if (isPostgresql(db)) await sql`lock table otps in access exclusive mode`.execute(db);
  await db.schema
    .createTable('otps_with_data')
    .addColumn('reference', 'text', (column) => column.notNull().references('keys.reference'))
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('otp_id', 'text', (column) => column.notNull().primaryKey())
    .addColumn('salt', 'blob', (column) => column.notNull())
    .addColumn('mac', 'blob', (column) => column.notNull())
    .addColumn('bound_digests', 'text')
    .addColumn('attempts_left', 'integer', (column) => column.notNull())
    .addColumn('reserved_until', 'bigint')
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addColumn('seal_salt', 'blob')
    .addColumn('seal_mac', 'blob')
    .addColumn('signatures', 'integer')
    .addColumn('client', 'text')
    .addColumn('ends_at', 'bigint')
    .execute();
  await sql`insert into otps_with_data (${sql.raw(kept)}) select ${sql.raw(kept)} from otps`.execute(db);
  await db.schema.dropTable('otps').execute();
  await db.schema.alterTable('otps_with_data').renameTo('otps').execute();
  await db.schema.createIndex('otps_expires_at').on('otps').column('expires_at').execute();
  await sql`create unique index otps_reference_action on otps (reference, action) where signatures is null`.execute(db);
  await sql`create index otps_of_data on otps (reference) where signatures is not null`.execute(db);
}
