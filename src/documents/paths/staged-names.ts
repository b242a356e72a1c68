import { randomBytes } from 'node:crypto';
import { opendir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../telemetry/log.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';

/** Form of a temporary file name, of any instance. */
export const stagedNameForm = /^\.signetd\.[a-z0-9-]+\.[0-9a-f]{32}\.tmp$/;

/**
 * Names of files being written. They contain the name of the instance, so that after a crash each
 * removes only its own.
 */
export class StagedNames {
  readonly #prefix: string;
  readonly #form: RegExp;
  readonly #inUse = new Set<string>();
  /** Planned final names of evidence, by directory. */
  readonly #planned = new Set<string>();

  /** `instance`: a unique name of lower-case letters, digits and hyphens. */
  constructor(instance: string) {
    this.#prefix = `.signetd.${instance}.`;
    this.#form = new RegExp(`^\\.signetd\\.${instance}\\.[0-9a-f]{32}\\.tmp$`);
  }

  take(): string {
    const name = `${this.#prefix}${randomBytes(16).toString('hex')}.tmp`;
    this.#inUse.add(name);
    return name;
  }

  /** Reserves the name of a file from an earlier run that is still needed. */
  takeAgain(name: string): void {
    this.#inUse.add(name);
  }

  free(name: string): void {
    this.#inUse.delete(name);
  }

  /**
   * Plans a final name in a directory. Returns false if it is already planned for other evidence.
   */
  plan(directory: string, name: string): boolean {
    const planned = `${directory}/${name}`;
    if (this.#planned.has(planned)) return false;
    this.#planned.add(planned);
    return true;
  }

  isPlanned(directory: string, name: string): boolean {
    return this.#planned.has(`${directory}/${name}`);
  }

  endPlan(directory: string, name: string): void {
    this.#planned.delete(`${directory}/${name}`);
  }

  /**
   * Removes files left by a crash in directories and below. It runs in the background; directories
   * that cannot be read are skipped.
   */
  async removeLeft(directories: readonly string[], log: Logger): Promise<void> {
    let removed = 0;
    for (const directory of new Set(directories)) {
      try {
        for await (const path of filesBelow(directory)) {
          const name = path.slice(path.lastIndexOf('/') + 1);
          if (!this.#form.test(name) || this.#inUse.has(name)) continue;
          await unlink(path);
          removed += 1;
        }
      } catch (error) {
        log.warn('a directory could not be searched for files left by an earlier run', {
          directory,
          reason: reasonOf(error),
        });
      }
    }
    if (removed > 0) log.warn('removed unfinished files of an earlier run', { files: removed });
  }
}

/** Yields regular files in a directory and below; links are not followed. */
async function* filesBelow(directory: string): AsyncGenerator<string, void> {
  for await (const entry of await opendir(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) yield path;
  }
}
