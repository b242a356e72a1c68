import { sql, type Kysely } from 'kysely';
import { Migrator } from 'kysely/migration';
import { textOf } from './database.ts';
import { migrationProvider } from './migrations/all.ts';
import { isPostgresql } from './migrations/dialect.ts';
import type { Schema } from './schema.ts';

/** Thrown if the schema of the database is newer than this program. */
export class SchemaTooNew extends Error {}

/**
 * Migrates the database. Several instances may call this at once: the database runs one at a time.
 * @throws {SchemaTooNew}
 */
export async function migrate(db: Kysely<Schema>): Promise<void> {
  await checkNotNewer(db);
  // Numbers are assigned before the work on a migration is finished, so a lower one may be added
  // later.
  const { error } = await new Migrator({ db, provider: migrationProvider, allowUnorderedMigrations: true }).migrateToLatest();
  if (error === undefined) return;
  // Another instance may have migrated further since the check.
  await checkNotNewer(db);
  throw error instanceof Error ? error : new Error(textOf(error));
}

/** Checks that the schema is not newer than this program. @throws {SchemaTooNew} */
export async function checkNotNewer(db: Kysely<Schema>): Promise<void> {
  const known = new Set(Object.keys(await migrationProvider.getMigrations()));
  const unknown = (await carriedOut(db)).filter((name) => !known.has(name));
  if (unknown.length === 0) return;
  throw new SchemaTooNew(
    `the schema of the state store is newer than this program (unknown migrations: ${unknown.join(', ')}): install the version that created it, or a later one`,
  );
}

/** Returns the names of the applied migrations. */
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
