import type { Kysely } from 'kysely';

/**
 * Data that activation uses beside the secret: whether it is stretched, the transaction, the bound
 * digests; and one-time passwords.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('keys')
    .addColumn('secret_stretched', 'integer', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.alterTable('keys').addColumn('transaction_salt', 'blob').execute();
  await db.schema.alterTable('keys').addColumn('transaction_mac', 'blob').execute();
  await db.schema.alterTable('keys').addColumn('bound_digests', 'text').execute();
  await db.schema
    .createTable('otps')
    .addColumn('reference', 'text', (column) => column.notNull().references('keys.reference'))
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('otp_id', 'text', (column) => column.notNull().unique())
    .addColumn('salt', 'blob', (column) => column.notNull())
    .addColumn('mac', 'blob', (column) => column.notNull())
    .addColumn('bound_digests', 'text')
    .addColumn('attempts_left', 'integer', (column) => column.notNull())
    .addColumn('reserved_until', 'bigint')
    .addColumn('expires_at', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('otps_reference_action', ['reference', 'action'])
    .execute();
  await db.schema.createIndex('otps_expires_at').on('otps').column('expires_at').execute();
}
