import { closeSync, constants, fdatasync, fdatasyncSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { accountFile, accountFiles, accountHash, accountLine, accountTail, type AccountStart } from '../account-files.ts';

/** A power loss takes at most this with it; whatever else ends the host takes nothing. */
const syncMs = 100;
/** Uses are written before there are more bytes of them: readers take lines of 1 MiB. */
const pendingMaxCharacters = 256 * 1024;

export interface AccountOptions {
  readonly directory: string;
  /** Number of the thread: each has a chain of its own. */
  readonly chain: number;
  readonly rotateBytes: number;
  /** Told why the account cannot be written: nothing is answered then. */
  readonly failed: (reason: string) => void;
}

/**
 * One thread's account of the uses of keys: appended to, chained by hashes. What a read of the socket brought is one line and one write, which is done
 * before any of its answers leaves, and reaches the disk within 100 ms.
 */
export class UseAccount {
  readonly #options: AccountOptions;
  #fd: number;
  #number: number;
  #size: number;
  #n: number;
  #previous: string;
  /** As they stand in the line. The host runs without a compiler: one string costs less than a list. */
  #pending = '';
  /** One sync at a time, so that each file is closed once. */
  #isSyncAhead = false;
  /** Something was written since the last sync began. */
  #isUnsynced = false;
  /** The file that is being synced, which is not closed meanwhile. */
  #syncing: number | undefined;
  #isBroken = false;

  /** Goes on where the last host ended; a half-written line is cut. @throws {Error} where it cannot be written */
  constructor(options: AccountOptions) {
    this.#options = options;
    const { directory, chain } = options;
    try {
      const tail = accountTail(accountFiles(directory).get(chain) ?? []);
      const gap = tail.isSound ? undefined : `the last line of file ${tail.file} is none that this service writes`;
      this.#number = Math.max(1, tail.isSound ? tail.file : tail.file + 1);
      this.#size = tail.isSound ? tail.goodBytes : 0;
      this.#n = tail.n;
      this.#previous = tail.hash;
      this.#fd = this.#open(this.#size);
      const start: AccountStart = { cutBytes: tail.isSound && tail.cutBytes > 0 ? tail.cutBytes : undefined, gap };
      this.#append(`"start":${JSON.stringify(start)}`);
      fdatasyncSync(this.#fd);
    } catch (error) {
      throw new Error(`the account of uses in ${directory} cannot be written: ${reasonOf(error)}`, { cause: error });
    }
  }

  /** Takes a use in, which `flush` writes. */
  add(use: string): void {
    // No word of a use has a character that JSON escapes.
    this.#pending += this.#pending === '' ? `"${use}"` : `,"${use}"`;
    if (this.#pending.length > pendingMaxCharacters) this.flush();
  }

  /** Before an answer leaves: all that was added is in the file. @throws {Error} where it is not; then nothing is answered any more */
  flush(): void {
    if (this.#isBroken) throw new Error('the account of uses cannot be written');
    if (this.#pending === '') return;
    const uses = `"uses":[${this.#pending}]`;
    this.#pending = '';
    try {
      this.#append(uses);
      if (this.#size >= this.#options.rotateBytes) this.#rotate();
    } catch (error) {
      this.#break(error);
      throw error;
    }
    this.#syncSoon();
  }

  #append(rest: string): void {
    const line = accountLine(this.#n + 1, new Date().toISOString(), this.#previous, rest);
    const bytes = Buffer.from(`${line}\n`, 'latin1');
    for (let written = 0; written < bytes.length;) written += writeSync(this.#fd, bytes, written);
    this.#n += 1;
    this.#previous = accountHash(bytes.subarray(0, -1));
    this.#size += bytes.length;
  }

  #rotate(): void {
    fdatasyncSync(this.#fd);
    if (this.#syncing !== this.#fd) closeSync(this.#fd);
    this.#number += 1;
    this.#size = 0;
    this.#fd = this.#open(0);
  }

  #open(goodBytes: number): number {
    const { directory, chain } = this.#options;
    const { path } = accountFile(directory, chain, this.#number);
    const fd = openSync(path, constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
    ftruncateSync(fd, goodBytes);
    fsyncSync(fd);
    const directoryFd = openSync(dirname(path), constants.O_RDONLY);
    fsyncSync(directoryFd);
    closeSync(directoryFd);
    return fd;
  }

  #syncSoon(): void {
    this.#isUnsynced = true;
    if (this.#isSyncAhead) return;
    this.#isSyncAhead = true;
    setTimeout(() => {
      const fd = this.#fd;
      this.#syncing = fd;
      this.#isUnsynced = false;
      fdatasync(fd, (error) => {
        this.#syncing = undefined;
        this.#isSyncAhead = false;
        if (fd !== this.#fd) closeSync(fd);
        if (error !== null) this.#break(error);
        else if (this.#isUnsynced) this.#syncSoon();
      });
    }, syncMs).unref();
  }

  #break(error: unknown): void {
    if (this.#isBroken) return;
    this.#isBroken = true;
    this.#options.failed(`the account of uses in ${this.#options.directory} cannot be written: ${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
