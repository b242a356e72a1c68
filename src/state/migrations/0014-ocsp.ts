import { sql, type Kysely } from 'kysely';
import { isPostgresql } from './dialect.ts';

/**
 * OCSP responders, the look-up of certificates by serial number, and the order of precedence of
 * CRLs by signer.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('ocsp_responders')
    .addColumn('authority', 'text', (column) => column.notNull())
    .addColumn('signer', 'text', (column) => column.notNull())
    .addColumn('generation', 'bigint', (column) => column.notNull())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('der', 'blob', (column) => column.notNull())
    .addColumn('not_before', 'bigint', (column) => column.notNull())
    .addColumn('not_after', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('ocsp_responders_pk', ['authority', 'signer', 'generation'])
    .execute();
  await db.schema.createIndex('certificates_serial_number').on('certificates').columns(['authority', 'serial_number']).execute();
  await db.schema
    .alterTable('crl_states')
    .addColumn('signer_since', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  if (!isPostgresql(db)) return;
  await sql`
    create function note_revocation() returns trigger language plpgsql as $$
    declare
      revocation record;
    begin
      revocation := case when tg_op = 'DELETE' then old else new end;
      insert into changes (table_name, row_id) values (tg_table_name, revocation.authority || '/' || revocation.serial_number);
      return null;
    end $$`.execute(db);
  await sql`
    create trigger revocations_change after insert or update or delete on revocations
    for each row execute function note_revocation()`.execute(db);
}
