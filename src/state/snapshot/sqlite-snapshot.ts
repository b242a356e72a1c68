import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { backup, DatabaseSync } from 'node:sqlite';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { removeAbandoned, unfinishedName } from '../../service/abandoned-files.ts';
import { asOwnerOf } from '../../service/file-owner.ts';
import type { SnapshotFile, StateSnapshot } from './state-snapshot.ts';

/** Pages that are copied before the copy loses its name, and between two looks at other work. */
const pagesAtOnce = 256;
/** End of the copy's name while it has one. */
const suffix = 'backup';
/** Nobody but root can put anything in place of root's directories there. */
const rootsTemporaries = '/var/tmp';

/**
 * The embedded database at one moment: a read transaction, which keeps its view while the service
 * writes (WAL). The online backup API copies from the same connection, so from the same view.
 */
export class SqliteSnapshot implements StateSnapshot {
  readonly #path: string;
  readonly #database: DatabaseSync;

  private constructor(path: string, database: DatabaseSync) {
    this.#path = path;
    this.#database = database;
  }

  static async open(path: string): Promise<SqliteSnapshot> {
    return SqliteSnapshot.#open(path, { mode: 'ro' });
  }

  /** Opens a copy that nobody writes: SQLite makes no files beside it. */
  static async openCopy(path: string): Promise<SqliteSnapshot> {
    return SqliteSnapshot.#open(path, { immutable: '1' });
  }

  static async #open(path: string, parameters: Readonly<Record<string, string>>): Promise<SqliteSnapshot> {
    const url = pathToFileURL(path);
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    // SQLite opens the files beside the database, and may create them.
    const opened = asOwnerOf(dirname(path), () => {
      const database = new DatabaseSync(url, { readOnly: true, timeout: 5000 });
      try {
        // The first read of a transaction fixes its view.
        database.exec('begin');
        database.prepare('select 1 from kysely_migration limit 1').all();
      } catch (error) {
        database.close();
        throw error;
      }
      return database;
    });
    return Promise.resolve(new SqliteSnapshot(path, opened));
  }

  async *rows(select: string): AsyncGenerator {
    yield* this.#database.prepare(select).iterate();
  }

  async *files(): AsyncGenerator<SnapshotFile> {
    const copy = await this.#copy();
    try {
      const { size } = await copy.stat();
      yield { name: 'state.sqlite', bytes: size, content: copy.createReadStream({ autoClose: false, start: 0 }) };
    } finally {
      await copy.close();
    }
  }

  async close(): Promise<void> {
    this.#database.close();
    return Promise.resolve();
  }

  /**
   * Copies to a file beside the database, on the same disk and for the same user alone, which has
   * no name any more as soon as SQLite has it open: from then on no copy stays behind, however the
   * process ends. SQLite opens it by its name, so that root does not do this in a directory of
   * another user, who could put a symbolic link in its place.
   */
  async #copy(): Promise<FileHandle> {
    removeAbandoned([this.#path], suffix);
    const own = ownDirectory(dirname(this.#path));
    const path = unfinishedName(own === undefined ? this.#path : join(own, basename(this.#path)), suffix);
    let hasName = true;
    const removeName = (): void => {
      if (hasName) rmSync(path, { force: true });
      hasName = false;
    };
    const removeAll = (): void => {
      removeName();
      if (own !== undefined) rmSync(own, { recursive: true, force: true });
    };
    // A signal may end the process in between.
    process.once('exit', removeAll);
    try {
      return await this.#copyTo(path, removeName);
    } finally {
      removeAll();
      process.removeListener('exit', removeAll);
    }
  }

  async #copyTo(path: string, opened: () => void): Promise<FileHandle> {
    const handle = await open(path, 'wx+', 0o600);
    try {
      await backup(this.#database, path, { rate: pagesAtOnce, progress: opened });
      return handle;
    } catch (error) {
      await handle.close();
      throw error;
    }
  }
}

/**
 * Makes a private directory if this process is root and another user owns the one of the database.
 */
function ownDirectory(directory: string): string | undefined {
  if (process.geteuid?.() !== 0 || statSync(directory).uid === 0) return undefined;
  return mkdtempSync(join(rootsTemporaries, 'signetd-backup-'));
}
