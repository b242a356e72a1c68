import type { Kysely } from 'kysely';

/**
 * Certificates that the service's own CA issued to clients, so that a CRL can name those of a
 * revoked client.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('client_certificates')
    .addColumn('authority', 'text', (column) => column.notNull())
    .addColumn('serial_number', 'text', (column) => column.notNull())
    .addColumn('spki_sha256', 'text', (column) => column.notNull())
    .addColumn('not_after', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('client_certificates_key', ['authority', 'serial_number'])
    .execute();
  await db.schema.createIndex('client_certificates_of_key').on('client_certificates').column('spki_sha256').execute();
}
