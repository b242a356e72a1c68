import { closeSync, existsSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { Kysely, sql, SqliteDialect } from 'kysely';
import { refuseForeignLinks } from '../../service/foreign-links.ts';
import { type Change, type Database, type Failure, failureOf, type Outcome, type Work } from '../database.ts';
import { checkNotNewer, migrate } from '../migrate.ts';
import { readOnlyOperations } from '../repository-functions.ts';
import { rollback, runSteps } from '../run-group.ts';
import type { Schema } from '../schema.ts';
import { openDatabase } from './node-sqlite.ts';
import { openingError, sqliteFault } from './sqlite-fault.ts';

/** The embedded database, which a single process uses. */
export class SqliteDatabase implements Database {
  readonly #path: string;
  readonly #lock: { release(): void } | undefined;
  /** Undefined after a fault that a new connection may clear. */
  #db: Kysely<Schema> | undefined;

  private constructor(path: string, lock: { release(): void } | undefined, db: Kysely<Schema>) {
    this.#path = path;
    this.#lock = lock;
    this.#db = db;
  }

  /**
   * Opens and migrates the database.
   * @throws {Error} if the file cannot be opened or migrated, or another process has it open
   */
  static async open(path: string): Promise<SqliteDatabase> {
    refuseForeignLinks(path, `${path}-lock`);
    createPrivate(path);
    createPrivate(`${path}-lock`);
    let lock: ReturnType<typeof claimAlone> | undefined;
    let db: Kysely<Schema> | undefined;
    try {
      lock = claimAlone(path);
      db = connect(path);
      await migrateWhole(db);
      return new SqliteDatabase(path, lock, db);
    } catch (error) {
      await db?.destroy();
      lock?.release();
      throw openingError(error, path);
    }
  }

  /**
   * Opens the database read-only while another process uses it.
   * @throws {Error} if the file cannot be opened
   */
  static async openReadOnly(path: string): Promise<SqliteDatabase> {
    const db = connect(path, 'ro');
    try {
      await checkNotNewer(db);
      return new SqliteDatabase(path, undefined, db);
    } catch (error) {
      await db.destroy();
      throw openingError(error, path);
    }
  }

  async run(group: readonly Work[]): Promise<Outcome[]> {
    try {
      const values = await this.#commit(group);
      return group.map(({ id }, index) => ({ id, values: values[index] ?? [] }));
    } catch (error) {
      if (group.length === 1) return group.map(({ id }) => ({ id, failure: this.failureOf(error) }));
      // A member or the disk failed: run each member by itself.
      const outcomes: Outcome[] = [];
      for (const one of group) outcomes.push(...(await this.run([one])));
      return outcomes;
    }
  }

  async changes(): Promise<Change[]> {
    return Promise.resolve([]);
  }

  failureOf(error: unknown): Failure {
    return failureOf(error, (fault) => sqliteFault(fault).kind);
  }

  async close(): Promise<void> {
    await this.#db?.destroy();
    this.#lock?.release();
  }

  async #commit(group: readonly Work[]): Promise<unknown[][]> {
    try {
      this.#db ??= connect(this.#path, this.#lock === undefined ? 'ro' : 'rw');
      return await this.#db.connection().execute(async (connection) => {
        try {
          await (onlyReads(group) ? sql`begin` : sql`begin immediate`).execute(connection);
          const values = await runSteps(connection, group);
          await sql`commit`.execute(connection);
          return values;
        } catch (error) {
          await rollback(connection);
          throw error;
        }
      });
    } catch (error) {
      if (sqliteFault(error).reopen) {
        const db = this.#db;
        this.#db = undefined;
        await db?.destroy().catch(() => undefined);
      }
      throw error;
    }
  }
}

/**
 * Checks whether the group only reads. Any other begins as a writer: if another program, such as a
 * backup tool, is writing, it waits, whereas a reader that becomes a writer may fail at once
 * (SQLITE_BUSY_SNAPSHOT).
 */
function onlyReads(group: readonly Work[]): boolean {
  return group.every(({ steps }) => steps.every(({ name }) => readOnlyOperations.has(name)));
}

/**
 * Creates the file with access for its owner only; SQLite gives the files beside it the same mode.
 * An existing file is not opened: closing it would release the locks that this process has on it.
 */
function createPrivate(path: string): void {
  if (existsSync(path)) return;
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch {
    // SQLite will fail too, and report it as a fault of the store.
  }
}

/** Migrates in one transaction, so that a crash leaves the schema as it was. */
async function migrateWhole(db: Kysely<Schema>): Promise<void> {
  await db.connection().execute(async (connection) => {
    await sql`begin immediate`.execute(connection);
    try {
      await migrate(connection);
      await sql`commit`.execute(connection);
    } catch (error) {
      await rollback(connection);
      throw error;
    }
  });
}

/** Connects to the file. `rw`: a missing file is not created, since it would be empty. */
function connect(path: string, mode: 'rwc' | 'rw' | 'ro' = 'rwc'): Kysely<Schema> {
  const url = pathToFileURL(path);
  url.searchParams.set('mode', mode);
  return new Kysely<Schema>({ dialect: new SqliteDialect({ database: openDatabase(url, mode === 'ro') }) });
}

/**
 * Ensures that a single process uses the embedded store, since the counters of attempts in flight
 * are in its memory. The lock is on a database beside the store, so that a backup can read the
 * store meanwhile; the kernel releases it when the process ends.
 * @throws {Error} if another process holds the lock
 */
export function claimAlone(path: string): { release(): void } {
  refuseForeignLinks(`${path}-lock`);
  const lock = new DatabaseSync(`${path}-lock`, { timeout: 0 });
  try {
    lock.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE;');
  } catch (error) {
    lock.close();
    if (error instanceof Error && 'errcode' in error && error.errcode === 5) {
      throw new Error('another process has this state store open; SQLite supports a single instance, use PostgreSQL for several', {
        cause: error,
      });
    }
    throw error;
  }
  return {
    release: () => {
      lock.close();
    },
  };
}
