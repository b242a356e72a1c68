import { close, constants, fstat, fsync, ftruncate, open, stat, write } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { syncDirectory } from '../service/sync-directory.ts';

const openFile = promisify(open);
const closeFile = promisify(close);
const truncateFile = promisify(ftruncate);
const syncFile = promisify(fsync);
const statFile = promisify(fstat);
const statPath = promisify(stat);

/**
 * An append-only file. When `append` returns, the bytes are on disk; if it fails, they are removed
 * again.
 */
export class AppendFile {
  readonly path: string;
  readonly #fd: number;
  #size: number;
  #isTorn = false;

  private constructor(path: string, fd: number, size: number) {
    this.path = path;
    this.#fd = fd;
    this.#size = size;
  }

  /** Opens or creates the file and truncates it to `goodBytes`. */
  static async open(path: string, goodBytes: number): Promise<AppendFile> {
    // DSYNC: a write returns once it is on disk, so that one call replaces write and fdatasync.
    const fd = await openFile(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_DSYNC, 0o600);
    try {
      await truncateFile(fd, goodBytes);
      await syncFile(fd);
      await syncDirectory(dirname(path));
    } catch (error) {
      await closeFile(fd);
      throw error;
    }
    return new AppendFile(path, fd, goodBytes);
  }

  get size(): number {
    return this.#size;
  }

  /** Appends all of the bytes, or none. @throws the error of the file system */
  async append(bytes: Buffer): Promise<void> {
    await this.#takeBack();
    this.#isTorn = true;
    try {
      for (let written = 0; written < bytes.length;) written += await this.#write(bytes, written);
    } catch (error) {
      // If this fails too, the next append tries again first.
      await this.#takeBack().catch(() => undefined);
      throw error;
    }
    this.#isTorn = false;
    this.#size += bytes.length;
  }

  /** Whether the file is still the one at its path, with its length unchanged. */
  async isIntact(): Promise<boolean> {
    const own = await statFile(this.#fd);
    const there = await statPath(this.path).catch(() => undefined);
    return there !== undefined && there.ino === own.ino && there.dev === own.dev && (this.#isTorn || own.size === this.#size);
  }

  async close(): Promise<void> {
    await closeFile(this.#fd);
  }

  async #takeBack(): Promise<void> {
    if (!this.#isTorn) return;
    await truncateFile(this.#fd, this.#size);
    this.#isTorn = false;
  }

  async #write(bytes: Buffer, offset: number): Promise<number> {
    return new Promise((resolve, reject) => {
      write(this.#fd, bytes, offset, bytes.length - offset, null, (error, written) => {
        if (error === null) resolve(written);
        else reject(error);
      });
    });
  }
}
