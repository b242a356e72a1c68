import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const files = ['state.sqlite', 'state.sqlite-wal', 'state.sqlite-shm'] as const;

/** A copy of the SQLite state store of a quickstart. */
export class StateCopy {
  readonly #directory: string;
  readonly #copy = mkdtempSync(join(tmpdir(), 'signetd-state-copy-'));

  private constructor(directory: string) {
    this.#directory = directory;
  }

  static ofStopped(directory: string): StateCopy {
    const copy = new StateCopy(directory);
    for (const name of files) if (existsSync(join(directory, name))) copyFileSync(join(directory, name), join(copy.#copy, name));
    return copy;
  }

  /** As a backup makes it while the service runs: all that is committed at one moment. */
  static ofRunning(directory: string): StateCopy {
    const copy = new StateCopy(directory);
    const database = new DatabaseSync(join(directory, 'state.sqlite'), { timeout: 10_000 });
    try {
      database.prepare('vacuum into ?').run(join(copy.#copy, 'state.sqlite'));
    } finally {
      database.close();
    }
    return copy;
  }

  /** The store is lost. */
  static removeStore(directory: string): void {
    for (const name of files) rmSync(join(directory, name), { force: true });
  }

  /** Puts it where the store is. */
  restore(): void {
    StateCopy.removeStore(this.#directory);
    for (const name of files) {
      if (existsSync(join(this.#copy, name))) copyFileSync(join(this.#copy, name), join(this.#directory, name));
    }
  }

  remove(): void {
    rmSync(this.#copy, { recursive: true });
  }
}
