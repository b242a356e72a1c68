import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

/**
 * One process writes a log: two would break its chain. Node has no file locks, SQLite has: an exclusive transaction on an empty database holds one
 * for as long as the process lives, whatever ends it.
 */
export class DirectoryLock {
  readonly #database: DatabaseSync;

  /** @throws {Error} where another process writes this log. */
  constructor(directory: string) {
    this.#database = new DatabaseSync(join(directory, 'lock'));
    try {
      this.#database.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      this.#database.close();
      throw new Error(`another process writes the audit log in ${directory}`, { cause: error });
    }
  }

  release(): void {
    this.#database.close();
  }
}
