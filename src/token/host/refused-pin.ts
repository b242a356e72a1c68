import { pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto';
import { closeSync, constants, fstatSync, fsyncSync, ftruncateSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { errorCode } from '../../telemetry/error-code.ts';
import { unpadded } from './session.ts';

const hashBytes = 32;
const saltBytes = 16;
/**
 * Each guess of the PIN from the file costs as much: OWASP's minimum for PBKDF2-HMAC-SHA-512, about a
 * tenth of a second.
 */
const iterations = 210_000;
/**
 * The file always has this length, so that a full disk cannot prevent a refusal from being kept.
 */
const fileBytes = 512;

const Kept = z.strictObject({
  serial: z.string().max(64),
  salt: z.hex().length(2 * saltBytes),
  hash: z.hex().length(2 * hashBytes),
  /** CKR_ value. */
  code: z.int(),
  at: z.iso.datetime(),
});
type Kept = z.output<typeof Kept>;

/** The token has refused this very PIN before: it is not presented again. */
export class PinRefusedBefore extends Error {
  constructor({ code, at }: Kept) {
    super(
      `the token refused this PIN at ${at} (0x${code.toString(16)}), and it is not tried again: store the right PIN and start the token host; ` +
        'if this is the right one by now, signetctl token retry-pin lets it be tried once more',
    );
  }
}

/**
 * The last PIN that a token refused, as a salted hash in the directory of the host. A token locks its
 * PIN after a few wrong attempts, and a service manager, an operator and a reboot start hosts again:
 * only what is on the disk keeps all of them from presenting the same PIN.
 */
export class RefusedPin {
  readonly #directory: string;
  readonly #path: string;
  /** Codes of errors after which there is nothing to look up and nowhere to keep a refusal. */
  readonly #passed: readonly string[];

  /**
   * @param whose 'own' if `reserve` is called before the others; 'service' for an operator's process,
   * which respects and keeps refusals where the service's host has made the file
   */
  constructor(directory: string, whose: 'own' | 'service') {
    this.#directory = directory;
    this.#passed = whose === 'own' ? [] : ['ENOENT', 'ENOTDIR', 'EACCES'];
    this.#path = join(directory, 'refused-pin');
  }

  /**
   * Makes the file if there is none, so that a refusal needs no space on the disk.
   * @throws {Error} if it cannot be written; then no PIN may be presented
   */
  reserve(): void {
    this.#opened(constants.O_RDWR | constants.O_CREAT, (descriptor) => {
      const content = contentOf(descriptor);
      // What is there is written again: this shows that it could be replaced.
      overwrite(descriptor, content.length === fileBytes ? content : '');
    });
    const directory = openSync(this.#directory, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      fsyncSync(directory);
    } finally {
      closeSync(directory);
    }
  }

  /**
   * Must be called before the PIN is presented.
   * @param serial of the token (CK_TOKEN_INFO.serialNumber)
   * @throws {PinRefusedBefore} if this token refused this PIN the last time
   * @throws {Error} if the file cannot be read
   */
  check(serial: string, pin: Uint8Array): void {
    const kept = this.#kept();
    if (kept === undefined || kept.serial !== unpadded(serial)) return;
    const hash = hashOf(pin, Buffer.from(kept.salt, 'hex'));
    if (timingSafeEqual(hash, Buffer.from(kept.hash, 'hex'))) throw new PinRefusedBefore(kept);
  }

  /**
   * Keeps that the token refused the PIN: it is on the disk when this returns.
   * @param code the CKR_ value
   * @throws {Error} if there is no file, or it cannot be written
   */
  keep(serial: string, pin: Uint8Array, code: number): void {
    const salt = randomBytes(saltBytes);
    const hash = hashOf(pin, salt).toString('hex');
    const kept: Kept = { serial: unpadded(serial), salt: salt.toString('hex'), hash, code, at: new Date().toISOString() };
    try {
      this.#opened(constants.O_RDWR, (descriptor) => {
        overwrite(descriptor, inAscii(JSON.stringify(kept)));
      });
    } catch (error) {
      if (!this.#passed.includes(errorCode(error) ?? '')) throw error;
    }
  }

  /** Lets the PIN be presented once more. Returns whether a refusal was kept. */
  forget(): boolean {
    const kept = this.#kept();
    if (kept === undefined) return false;
    // The file stays, with its owner: the next refusal is kept in it.
    this.#opened(constants.O_RDWR, (descriptor) => {
      overwrite(descriptor, '');
    });
    return true;
  }

  /** Returns undefined also for a file without meaning: the next refusal is written over it. */
  #kept(): Kept | undefined {
    try {
      const text = this.#opened(constants.O_RDONLY, contentOf);
      return Kept.safeParse(jsonOf(text)).data;
    } catch (error) {
      if (errorCode(error) === 'ENOENT' || this.#passed.includes(errorCode(error) ?? '')) return undefined;
      throw error;
    }
  }

  /** Root opens it too, in a directory of another user, who must not choose what root writes to. */
  #opened<T>(flags: number, work: (descriptor: number) => T): T {
    // A pipe would have its opener wait.
    const descriptor = openSync(this.#path, flags | constants.O_NOFOLLOW | constants.O_NONBLOCK, 0o600);
    try {
      const stats = fstatSync(descriptor);
      if (!stats.isFile()) throw new Error(`${this.#path} is not a regular file`);
      if (stats.nlink > 1) throw new Error(`${this.#path} has another name`);
      return work(descriptor);
    } finally {
      closeSync(descriptor);
    }
  }
}

/** Returns what is in the file, or the beginning of a file that is too long. */
function contentOf(descriptor: number): string {
  const bytes = Buffer.alloc(fileBytes + 1);
  return bytes.toString('latin1', 0, readSync(descriptor, bytes, 0, bytes.length, 0));
}

/** JSON may have any character as an escape: the serial number of a token need not be ASCII. */
function inAscii(json: string): string {
  return json.replaceAll(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function hashOf(pin: Uint8Array, salt: Uint8Array): Buffer {
  return pbkdf2Sync(pin, salt, iterations, hashBytes, 'sha512');
}

function overwrite(descriptor: number, text: string): void {
  const content = Buffer.from(text.padEnd(fileBytes, ' '), 'latin1');
  if (content.length !== fileBytes) throw new Error(`a refused PIN takes ${content.length} bytes, more than ${fileBytes}`);
  writeSync(descriptor, content, 0, content.length, 0);
  // What somebody else has added would make all of it unreadable.
  ftruncateSync(descriptor, fileBytes);
  fsyncSync(descriptor);
}
