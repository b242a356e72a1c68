import { PostgresAdapter, type Kysely } from 'kysely';

/** Migrations are written once for both databases; where they have to differ, they ask. */
export function isPostgresql(db: Kysely<unknown>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}
