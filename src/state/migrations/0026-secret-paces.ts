import { sql, type Kysely } from 'kysely';
import { isPostgresql } from './dialect.ts';

/** Paces of wrong secrets by client and by tenant, which all instances share. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('secret_paces')
    .addColumn('subject', 'text', (column) => column.primaryKey())
    .addColumn('missing', 'double precision', (column) => column.notNull())
    .addColumn('as_of', 'bigint', (column) => column.notNull())
    .execute();
  if (!isPostgresql(db)) return;
  // A row that is removed was that of a full bucket, as every instance knows by the time alone.
  await sql`
    create trigger secret_paces_change after insert or update on secret_paces
    for each row execute function note_change('subject')`.execute(db);
}
