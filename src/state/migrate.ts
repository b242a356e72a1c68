import { sql, type Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { textOf } from './database.ts';
import { migrationProvider } from './migrations/all.ts';
import { isPostgresql } from './migrations/dialect.ts';
import type { Schema } from './schema.ts';

/** The database has been brought further than this program knows. */
export class SchemaTooNew extends Error {}

/**
 * Brings the database up to date. Several instances may do so at once: the database lets one at a
 * time.
 * @throws {SchemaTooNew}
 */
export async function migrate(db: Kysely<Schema>): Promise<void> {
  await checkNotNewer(db);
  // Numbers are given out before the work on them is done, so a lower one can come later.
  const { error } = await new Migrator({ db, provider: migrationProvider, allowUnorderedMigrations: true }).migrateToLatest();
  if (error === undefined) return;
  // Another instance may have gone further since the check.
  await checkNotNewer(db);
  throw error instanceof Error ? error : new Error(textOf(error));
}

/** @throws {SchemaTooNew} */
export async function checkNotNewer(db: Kysely<Schema>): Promise<void> {
  const known = new Set(Object.keys(await migrationProvider.getMigrations()));
  const unknown = (await carriedOut(db)).filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  throw new SchemaTooNew(
    `the schema of the state store is newer than this program, which does not know ${unknown.join(', ')}: install the version that made it, or a later one`,
  );
}

/** Names of the migrations that the database has had. */
async function carriedOut(db: Kysely<Schema>): Promise<string[]> {
  if (await isNew(db)) return [];
  const { rows } = await sql<{ name: string }>`select name from kysely_migration order by name`.execute(db);
  return rows.map(({ name }) => name);
}

async function isNew(db: Kysely<Schema>): Promise<boolean> {
  const { rows } = isPostgresql(db)
    ? await sql`select 1 where to_regclass('kysely_migration') is not null`.execute(db)
    : await sql`select 1 from sqlite_master where type = 'table' and name = 'kysely_migration'`.execute(db);
  return rows.length === 0;
}
