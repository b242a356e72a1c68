import type { Kysely } from 'kysely';

/** Kept answers for repeated requests, and the service's own keys on the token. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('kept_answers')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('fingerprint', 'blob', (column) => column.notNull())
    .addColumn('claim', 'text')
    .addColumn('answer', 'blob')
    .addColumn('parts', 'text')
    .addColumn('ends_at', 'bigint', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('kept_answers_ends_at').on('kept_answers').column('ends_at').execute();
  await db.schema.createIndex('kept_answers_claim').on('kept_answers').column('claim').execute();
  await db.schema
    .createTable('kept_answer_parts')
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('claim', 'text', (column) => column.notNull())
    .addColumn('part', 'integer', (column) => column.notNull())
    .addColumn('bytes', 'blob', (column) => column.notNull())
    .addPrimaryKeyConstraint('kept_answer_parts_key', ['id', 'claim', 'part'])
    .execute();
  await db.schema
    .createTable('service_keys')
    .addColumn('purpose', 'text', (column) => column.primaryKey())
    .addColumn('key_id', 'text', (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .execute();
}
