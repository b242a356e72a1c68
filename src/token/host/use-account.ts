import { closeSync, constants, fdatasync, fdatasyncSync, fsyncSync, ftruncateSync, openSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { accountFile, accountFiles, accountHash, accountLine, accountTail, type AccountStart } from '../account-files.ts';

/** A power loss loses at most the uses of this time; any other end of the host loses none. */
const syncMs = 100;
/** Pending uses are written when they exceed this: readers accept lines of up to 1 MiB. */
const pendingMaxCharacters = 256 * 1024;

export interface AccountOptions {
  readonly directory: string;
  /** Number of the thread: each has its own chain. */
  readonly chain: number;
  readonly rotateBytes: number;
  /** Called with the reason if the account cannot be written: from then on nothing is answered. */
  readonly failed: (reason: string) => void;
}

/**
 * One thread's account of the uses of keys: append-only, chained by hashes. The uses of one socket
 * read are one line and one write, which completes before any of the answers leaves, and reaches
 * the disk within 100 ms.
 */
export class UseAccount {
  readonly #options: AccountOptions;
  #fd: number;
  #number: number;
  #size: number;
  #n: number;
  #previous: string;
  /**
   * Pending uses, as they are written in the line. The host runs without JIT: one string costs less
   * than a list.
   */
  #pending = '';
  /** One sync at a time, so that each file is closed once. */
  #isSyncAhead = false;
  /** Whether anything was written since the last sync began. */
  #isUnsynced = false;
  /** The file that is being synced, which must not be closed meanwhile. */
  #syncing: number | undefined;
  #isBroken = false;

  /**
   * Continues where the last host ended; cuts off a half-written line.
   * @throws {Error} if it cannot be written
   */
  constructor(options: AccountOptions) {
    this.#options = options;
    const { directory, chain } = options;
    try {
      const tail = accountTail(accountFiles(directory).get(chain) ?? []);
      const gap = tail.isSound ? undefined : `the last line of file ${tail.file} was not written by this service`;
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

  /** Adds a use, which `flush` writes. */
  add(use: string): void {
    // Uses contain no character that JSON escapes.
    this.#pending += this.#pending === '' ? `"${use}"` : `,"${use}"`;
    if (this.#pending.length > pendingMaxCharacters) this.flush();
  }

  /**
   * Writes all added uses to the file, before an answer leaves.
   * @throws {Error} if that fails; from then on nothing is answered
   */
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
