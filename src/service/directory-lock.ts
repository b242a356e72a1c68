import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const sqliteBusy = 5;

/**
 * One process writes a hash chain: two would break it. Node has no file locks, SQLite has: an
 * exclusive transaction on a database without tables holds one for as long as the process lives,
 * whatever ends it.
 */
export class DirectoryLock {
  readonly #database: DatabaseSync;

  /**
   * @param what is written there, for the message.
   * @throws {Error} if another process writes it.
   */
  constructor(directory: string, what: string) {
    this.#database = new DatabaseSync(join(directory, 'lock'));
    try {
      // A database that has its first page is locked without a write, so that a full disk is no
      // hindrance later.
      const version = this.#database.prepare('PRAGMA user_version').get()?.['user_version'];
      if (version !== 1) this.#database.exec('PRAGMA user_version = 1');
      this.#database.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      this.#database.close();
      const isLocked = error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy;
      throw isLocked ? new Error(`another process writes ${what} in ${directory}`) : error;
    }
  }

  release(): void {
    this.#database.close();
  }
}
