import { randomBytes } from 'node:crypto';
import { opendir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from '../../telemetry/log.ts';

/** A name of a file that any instance is writing. */
export const stagedNameForm = /^\.signetd\.[a-z0-9-]+\.[0-9a-f]{32}\.tmp$/;

/** Names of files that are being written. They carry the name of the instance, so that each removes its own alone after a crash. */
export class StagedNames {
  readonly #prefix: string;
  readonly #form: RegExp;
  readonly #inUse = new Set<string>();
  /** Final names that evidence on its way is to have, by directory. */
  readonly #planned = new Set<string>();

  /** `instance`: a name of lower-case letters, digits and hyphens that no other instance has. */
  constructor(instance: string) {
    this.#prefix = `.signetd.${instance}.`;
    this.#form = new RegExp(`^\\.signetd\\.${instance}\\.[0-9a-f]{32}\\.tmp$`);
  }

  take(): string {
    const name = `${this.#prefix}${randomBytes(16).toString('hex')}.tmp`;
    this.#inUse.add(name);
    return name;
  }

  /** Takes a name that an earlier run gave to a file, which is still needed. */
  takeAgain(name: string): void {
    this.#inUse.add(name);
  }

  free(name: string): void {
    this.#inUse.delete(name);
  }

  /** Plans a final name in a directory. False where other evidence on its way is to have it. */
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

  /** Removes what a crash left below directories. It goes on beside the service; what cannot be looked at is left. */
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
        log.warn('files that an earlier run left may be in a directory', {
          directory,
          reason: error instanceof Error ? error.message : String(error),
        });
      }
    }
    if (removed > 0) log.warn('removed files that an earlier run had not finished', { files: removed });
  }
}

/** Regular files in the directory and in those below it; links are not followed. */
async function* filesBelow(directory: string): AsyncGenerator<string, void> {
  for await (const entry of await opendir(directory)) {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) yield* filesBelow(path);
    else if (entry.isFile()) yield path;
  }
}
