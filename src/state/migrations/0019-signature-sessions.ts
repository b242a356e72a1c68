import { sql, type Kysely } from 'kysely';
import { isPostgresql } from './dialect.ts';

/** Sessions of signatures whose values are made elsewhere, between their two steps. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('signature_sessions')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('tenant', 'text', (column) => column.notNull())
    .addColumn('client', 'text', (column) => column.notNull())
    .addColumn('stored', 'integer', (column) => column.notNull())
    .addColumn('spooled_bytes', 'bigint', (column) => column.notNull())
    .addColumn('ends_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('signature_sessions_owner').on('signature_sessions').columns(['tenant', 'ends_at', 'client']).execute();
  await db.schema.createIndex('signature_sessions_ends_at').on('signature_sessions').column('ends_at').execute();
  await sql`create index signature_sessions_spooled on signature_sessions (spooled_bytes) where spooled_bytes > 0`.execute(db);
  await db.schema
    .createTable('signature_session_parts')
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('item', 'integer', (column) => column.notNull())
    .addColumn('part', 'integer', (column) => column.notNull())
    .addColumn('bytes', 'blob', (column) => column.notNull())
    .addPrimaryKeyConstraint('signature_session_parts_key', ['id', 'item', 'part'])
    .execute();
  if (!isPostgresql(db)) return;
  // Encrypted data does not compress.
  await sql`alter table signature_session_parts alter column bytes set storage external`.execute(db);
}
