import { chmodSync, lstatSync, mkdirSync, rmSync, unlinkSync } from 'node:fs';
import { join } from 'node:path';
import { proofDirectory } from './protocol.ts';

/**
 * Node does not tell who is at the other end of a Unix socket. So whoever connects makes an empty file of a name that was chosen for this one
 * connection, and the kernel says whose file it is: nobody can make one that belongs to somebody else. A hard link to a file of another user would
 * be one, and has more than one name.
 */
export class ProofsOfUser {
  readonly #directory: string;

  /** @throws {Error} where the directory cannot be made */
  constructor(socketPath: string, mode: 0o700 | 0o1770) {
    this.#directory = proofDirectory(socketPath);
    rmSync(this.#directory, { recursive: true, force: true });
    mkdirSync(this.#directory, { mode: 0o700 });
    chmodSync(this.#directory, mode);
  }

  /** Number of the user who made the file; undefined where there is none. */
  take(proof: string): number | undefined {
    const path = join(this.#directory, proof);
    const file = lstatSync(path, { throwIfNoEntry: false });
    if (file === undefined) return undefined;
    if (file.isDirectory()) return undefined;
    unlinkSync(path);
    return file.isFile() && file.nlink === 1 ? file.uid : undefined;
  }

  remove(): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
