import { dirname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Kysely, sql, SqliteDialect } from 'kysely';
import type { StateConfig } from '../../config/state-config.ts';
import type { Logger } from '../../telemetry/log.ts';
import { becomeOwnerOf } from '../../service/file-owner.ts';
import { isPostgresql } from '../migrations/dialect.ts';
import { rollback } from '../run-group.ts';
import type { Schema } from '../schema.ts';
import { openStateStore } from '../threaded-store.ts';
import { copiedTables, type CopiedTable } from './tables.ts';
import type { Row } from './table-digest.ts';

const rowsAtOnce = 500;

/** Thrown if a state store cannot be copied as things are; nothing was changed. */
export class CopyRefused extends Error {}

/** The store to which another one is copied, in one transaction. */
export class CopyTarget {
  readonly db: Kysely<Schema>;

  private constructor(db: Kysely<Schema>) {
    this.db = db;
  }

  /**
   * Adds a row, or several of one table.
   * @throws {Error} if the database refuses one
   */
  async insert(table: CopiedTable, rows: readonly Row[]): Promise<void> {
    if (rows.length === 0) return;
    // Rows of the same table in a database with the same schema.
    await (this.db as unknown as Kysely<Record<string, Row>>)
      .insertInto(table)
      .values([...rows])
      .execute();
  }

  async *rows(table: CopiedTable): AsyncGenerator<Row> {
    if (!isPostgresql(this.db)) {
      yield* this.db.selectFrom(table).selectAll().stream(rowsAtOnce) as AsyncIterable<Row>;
      return;
    }
    await sql`declare copied_rows no scroll cursor for select * from ${sql.table(table)}`.execute(this.db);
    for (;;) {
      const { rows } = await sql<Row>`fetch ${sql.lit(rowsAtOnce)} from copied_rows`.execute(this.db);
      yield* rows;
      if (rows.length < rowsAtOnce) break;
    }
    await sql`close copied_rows`.execute(this.db);
  }

  /**
   * Creates the store with its schema, and fills it in one transaction: afterwards it has everything,
   * or is empty.
   * @throws {CopyRefused} if the store is not empty, or in use
   * @throws {Error} if `fill` throws; nothing is in the store then
   */
  static async fill<T>(config: StateConfig, log: Logger, fill: (target: CopyTarget) => Promise<T>): Promise<T> {
    const opened = config.kind === 'sqlite' ? await openSqlite(config, log) : await openPostgresql(config, log);
    try {
      return await opened.db.connection().execute(async (db) => {
        await sql.raw(config.kind === 'sqlite' ? 'begin immediate' : 'begin').execute(db);
        try {
          if (config.kind === 'postgresql') {
            // One copy at a time. A commit is on disk when it returns.
            await sql`lock table kysely_migration in share row exclusive mode`.execute(db);
            await sql`select set_config('synchronous_commit', case when current_setting('synchronous_commit') = 'off' then 'on' else current_setting('synchronous_commit') end, true)`.execute(
              db,
            );
          }
          await checkEmpty(db);
          const result = await fill(new CopyTarget(db));
          await sql`commit`.execute(db);
          return result;
        } catch (error) {
          await rollback(db);
          throw error;
        }
      });
    } finally {
      await opened.close();
    }
  }
}

interface Opened {
  readonly db: Kysely<Schema>;
  readonly close: () => Promise<void>;
}

async function openSqlite({ path }: StateConfig & { kind: 'sqlite' }, log: Logger): Promise<Opened> {
  const created = await openStateStore({ kind: 'sqlite', path }, log);
  await created.close();
  // SQLite opens files beside the database by their names.
  await becomeOwnerOf(dirname(path));
  const { claimAlone } = await import('../sqlite/sqlite-database.ts');
  const { openDatabase } = await import('../sqlite/node-sqlite.ts');
  const lock = claimAlone(path);
  const url = pathToFileURL(path);
  url.searchParams.set('mode', 'rw');
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: openDatabase(url, false) }) });
  return {
    db,
    close: async () => {
      await db.destroy();
      lock.release();
    },
  };
}

async function openPostgresql(config: StateConfig & { kind: 'postgresql' }, log: Logger): Promise<Opened> {
  const { databaseContents } = await import('../snapshot/postgresql-restore.ts');
  const { openClient } = await import('../postgresql/open-client.ts');
  const { kyselyOver } = await import('../postgresql/link.ts');
  const { connections, tables } = await databaseContents(config);
  if (connections > 0) throw new CopyRefused(`an instance of signetd uses the database ${config.database}: stop it`);
  if (tables.length > 0 && !tables.includes('kysely_migration'))
    throw new CopyRefused(`the database ${config.database} has tables that are not of signetd: ${tables.slice(0, 5).join(', ')}`);
  const created = await openStateStore(config, log);
  await created.close();
  // A copy takes longer than any statement of the service.
  const unlimited = { statement_timeout: 0, idle_in_transaction_session_timeout: 0, query_timeout: 0 };
  const client = await openClient(config, { ...unlimited, application_name: 'signetctl' });
  return { db: kyselyOver(client), close: async () => client.end() };
}

async function checkEmpty(db: Kysely<Schema>): Promise<void> {
  const filled: string[] = [];
  for (const table of copiedTables) {
    const { rows } = await sql`select 1 from ${sql.table(table)} limit 1`.execute(db);
    if (rows.length > 0) filled.push(table);
  }
  if (filled.length > 0) throw new CopyRefused(`the target is not empty: it has rows in ${filled.join(', ')}; name an empty one`);
}
