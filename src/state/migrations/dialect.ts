import { PostgresAdapter, type Kysely } from 'kysely';

/**
 * Checks whether the database is PostgreSQL, for migrations that differ between the two databases.
 */
export function isPostgresql(db: Pick<Kysely<unknown>, 'getExecutor'>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}
