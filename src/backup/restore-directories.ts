import { existsSync, mkdirSync, rmdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { own, type MissingOwners } from './owners.ts';
import type { Targets } from './restore-targets.ts';

/** The directories that a restore makes, and removes again if it fails. */
export class RestoreDirectories {
  readonly #made: string[] = [];

  /**
   * Makes the directories that are missing, with their owners.
   * @throws {Error} if one cannot be made; those before it are there
   */
  make({ directories }: Pick<Targets, 'directories'>, owners: MissingOwners): void {
    for (const directory of directories) {
      if (existsSync(directory.path)) continue;
      const above: string[] = [];
      for (let path = dirname(directory.path); !existsSync(path); path = dirname(path)) above.unshift(path);
      for (const path of above) {
        this.#make(path);
        // The process's mask takes rights that others need to reach what is below.
        own(path, { user: 'root', group: 'root', mode: 0o755 });
      }
      this.#make(directory.path);
      owners.add(directory.path, own(directory.path, directory));
    }
  }

  #make(path: string): void {
    mkdirSync(path, { mode: 0o755 });
    this.#made.push(path);
  }

  /**
   * Removes the directories that were made, but none that has files.
   * @param locks files that the locks of the restore left
   */
  remove(locks: readonly string[]): void {
    for (const path of locks) if (this.#made.includes(dirname(path))) rmSync(path, { force: true });
    for (const path of this.#made.toReversed()) {
      try {
        rmdirSync(path);
      } catch {
        // What is in it was restored, or is somebody else's.
      }
    }
  }
}
