import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { refuseForeignLinks } from './foreign-links.ts';

const sqliteBusy = 5;

/**
 * Ensures that a single process writes a hash chain, since two would break it. Node has no file
 * locks, but SQLite has: an exclusive transaction on a database without tables holds one for as
 * long as the process lives, however it ends.
 */
export class DirectoryLock {
  readonly #database: DatabaseSync;

  /**
   * @param what description of the contents, for the message
   * @throws {Error} if another process writes them, or the lock is a link that root must not follow
   */
  constructor(directory: string, what: string) {
    const path = join(directory, 'lock');
    refuseForeignLinks(path);
    this.#database = new DatabaseSync(path);
    try {
      // A database with a first page can be locked without a write, so a full disk is no obstacle
      // later.
      const version = this.#database.prepare('PRAGMA user_version').get()?.['user_version'];
      if (version !== 1) this.#database.exec('PRAGMA user_version = 1');
      this.#database.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      this.#database.close();
      const isLocked = error instanceof Error && 'errcode' in error && error.errcode === sqliteBusy;
      throw isLocked ? new Error(`another process is writing ${what} in ${directory}`) : error;
    }
  }

  release(): void {
    this.#database.close();
  }
}
