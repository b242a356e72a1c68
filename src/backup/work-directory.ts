import { mkdirSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { removeAbandoned, unfinishedName } from '../service/abandoned-files.ts';

const suffix = 'work';

/** A private directory for what has to be a file while a backup is checked. */
export class WorkDirectory {
  readonly path: string;

  /** Also removes those of processes that were killed. @throws {Error} if it cannot be made */
  constructor(parent: string) {
    const name = join(parent, 'signetd-backup');
    removeAbandoned([name], suffix);
    this.path = unfinishedName(name, suffix);
    mkdirSync(this.path, { mode: 0o700 });
    process.once('exit', this.#remove);
    // `exit` is not emitted for signals that end the process by themselves.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, this.#interrupted);
  }

  /** Writes a file in a directory of its own; returns its path. */
  async write(directory: string, name: string, content: AsyncIterable<Uint8Array>): Promise<string> {
    mkdirSync(join(this.path, directory), { recursive: true, mode: 0o700 });
    const path = join(this.path, directory, name);
    await writeNew(path, content);
    return path;
  }

  remove(): void {
    process.removeListener('exit', this.#remove);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.removeListener(signal, this.#interrupted);
    this.#remove();
  }

  readonly #remove = (): void => {
    rmSync(this.path, { recursive: true, force: true });
  };

  readonly #interrupted = (): void => {
    this.#remove();
    process.exit(1);
  };
}

/**
 * Writes a new file of mode 0600, which is on disk when this returns.
 * @throws {Error} if it exists
 */
export async function writeNew(path: string, content: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    for await (const chunk of content) await file.writeFile(chunk);
    await file.sync();
  } finally {
    await file.close();
  }
}
