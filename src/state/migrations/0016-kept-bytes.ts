import type { Kysely } from 'kysely';

/** The client and size of each kept answer, and the sums of sizes, which are limited. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('kept_answers')
    .addColumn('client', 'text', (column) => column.notNull().defaultTo(''))
    .execute();
  await db.schema
    .alterTable('kept_answers')
    .addColumn('bytes', 'bigint', (column) => column.notNull().defaultTo(0))
    .execute();
  await db.schema.createIndex('kept_answers_client').on('kept_answers').columns(['client', 'ends_at']).execute();
  await db.schema
    .createTable('kept_bytes')
    .addColumn('client', 'text', (column) => column.notNull())
    .addColumn('counter', 'text', (column) => column.notNull())
    .addColumn('bytes', 'bigint', (column) => column.notNull())
    .addPrimaryKeyConstraint('kept_bytes_key', ['client', 'counter'])
    .execute();
}
