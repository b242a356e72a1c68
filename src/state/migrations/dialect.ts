import { PostgresAdapter, type Kysely } from 'kysely';

/** What is written once for both databases asks where it has to differ. */
export function isPostgresql(db: Pick<Kysely<unknown>, 'getExecutor'>): boolean {
  return db.getExecutor().adapter instanceof PostgresAdapter;
}
