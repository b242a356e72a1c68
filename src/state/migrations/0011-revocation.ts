import { sql, type Kysely } from 'kysely';
import { isPostgresql } from './dialect.ts';

/** Revoked certificates, and the CRLs that list them. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('revocations')
    .addColumn('authority', 'text', (column) => column.notNull())
    .addColumn('serial_number', 'text', (column) => column.notNull())
    .addColumn('reason', 'integer', (column) => column.notNull())
    .addColumn('revoked_at', 'bigint', (column) => column.notNull())
    .addColumn('not_after', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('revocations_pk', ['authority', 'serial_number'])
    .execute();
  await db.schema
    .createTable('crl_states')
    .addColumn('authority', 'text', (column) => column.primaryKey())
    .addColumn('revision', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('number', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('claimed_until', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('published_number', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('published_revision', 'bigint', (column) => column.notNull().defaultTo(-1))
    .addColumn('signer', 'text', (column) => column.notNull().defaultTo(''))
    .addColumn('this_update', 'bigint', (column) => column.notNull().defaultTo(0))
    .addColumn('next_update', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema
    .createTable('crls')
    .addColumn('authority', 'text', (column) => column.primaryKey())
    .addColumn('number', 'bigint', (column) => column.notNull())
    .addColumn('der', 'blob', (column) => column.notNull())
    .execute();
  if (!isPostgresql(db)) return;
  // Nearly random data does not compress.
  await sql`alter table crls alter column der set storage external`.execute(db);
}
