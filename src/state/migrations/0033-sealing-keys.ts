import type { Kysely } from 'kysely';

/**
 * With which key on the token a kept answer or a session is sealed; null: an earlier version made
 * the row.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const table of ['kept_answers', 'signature_sessions']) {
    await db.schema.alterTable(table).addColumn('sealed_by', 'text').execute();
    await db.schema.createIndex(`${table}_sealed_by`).on(table).columns(['sealed_by', 'ends_at']).execute();
  }
  // What the former key says of the key that replaced it (`audit/succession.ts`).
  await db.schema.alterTable('audit_keys').addColumn('succession', 'text').execute();
}
