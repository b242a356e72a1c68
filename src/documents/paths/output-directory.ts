import { constants } from 'node:fs';
import { link, open, readdir, rename, unlink, type FileHandle } from 'node:fs/promises';
import { Refusal } from '../../result-codes.ts';
import { closing } from '../closing.ts';
import { evidenceFileName } from '../document.ts';
import { openEntry, pathOfEntry, reopen } from './descriptors.ts';
import { errorCode, notFound, refusalOf } from './path-refusal.ts';
import type { StagedNames } from './staged-names.ts';
import { findPlace } from './walk.ts';

/** After so many numbers that are taken, the directory itself is asked for the highest. */
const guessesMax = 16;
const numbersMax = 1_000_000;

/** A file that has its name. `device` and `inode` tell it from one that took its place. */
interface WrittenFile {
  readonly name: string;
  readonly device: bigint;
  readonly inode: bigint;
}

/** A file under a temporary name. */
interface StagedFile {
  readonly name: string;
  readonly handle: FileHandle;
}

/** A directory that evidence is written into. Everything begins at its descriptor: whoever renames it or puts a link in its place changes nothing. */
export class OutputDirectory {
  readonly #place: FileHandle;
  readonly #names: StagedNames;
  readonly #at: string;
  readonly #mode: number;
  readonly #staged: StagedFile[] = [];
  readonly #written: WrittenFile[] = [];

  private constructor(place: FileHandle, { names, at, mode }: { names: StagedNames; at: string; mode: number }) {
    this.#place = place;
    this.#names = names;
    this.#at = at;
    this.#mode = mode;
  }

  /** `mode`: permission bits of what is written. @throws {Refusal} FILE_ACCESS_DENIED, FILE_NOT_FOUND */
  static async open(
    path: string,
    allowed: readonly string[],
    { names, at, mode }: { readonly names: StagedNames; readonly at: string; readonly mode: number },
  ): Promise<OutputDirectory> {
    const { handle, isDirectory } = await findPlace(path, allowed, { at, what: 'directory' });
    if (isDirectory) return new OutputDirectory(handle, { names, at, mode });
    await handle.close();
    throw notFound(at, 'directory');
  }

  /** Has a file written under a temporary name; `write` fills and syncs it. @throws {Refusal} STORE_FULL, FILE_ACCESS_DENIED */
  async stage(write: (file: FileHandle) => Promise<void>): Promise<void> {
    const name = this.#names.take();
    try {
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
      const handle = await open(pathOfEntry(this.#place, name), flags, 0o600).catch((error: unknown) => {
        // There is nothing of that name to be removed.
        this.#names.free(name);
        throw error;
      });
      this.#staged.push({ name, handle });
      await handle.chmod(this.#mode);
      await write(handle);
    } catch (error) {
      throw refusalOf(error, this.#at, 'directory') ?? error;
    }
  }

  /**
   * Gives the staged files their names, in their order: as asked, or numbered where there is a file of that name. Answers the names.
   * @throws {Refusal} STORE_FULL, FILE_ACCESS_DENIED
   */
  async publish(wanted: readonly { readonly fileName: string; readonly ending: string }[]): Promise<string[]> {
    try {
      for (const [index, staged] of this.#staged.entries()) {
        const { fileName, ending } = wanted[index] ?? { fileName: '', ending: '' };
        const { dev: device, ino: inode } = await staged.handle.stat({ bigint: true });
        this.#written.push({ name: await this.#named(staged.name, fileName, ending), device, inode });
      }
      await this.#removeStaged();
      await this.#sync();
    } catch (error) {
      throw refusalOf(error, this.#at, 'directory') ?? error;
    }
    return this.#written.map(({ name }) => name);
  }

  /** Removes everything that was written here, as long as it is what was written. */
  async undo(): Promise<void> {
    await this.#removeStaged();
    for (const { name, device, inode } of this.#written.splice(0)) {
      const entry = await openEntry(this.#place, name).catch(() => undefined);
      if (entry === undefined) continue;
      const { dev, ino } = await closing(entry, async () => entry.stat({ bigint: true }));
      if (dev === device && ino === inode) await unlink(pathOfEntry(this.#place, name));
    }
    await this.#sync();
  }

  async close(): Promise<void> {
    await this.#removeStaged();
    await this.#place.close();
  }

  async #removeStaged(): Promise<void> {
    for (const { name, handle } of this.#staged.splice(0)) {
      await handle.close();
      await unlink(pathOfEntry(this.#place, name)).catch((error: unknown) => {
        if (errorCode(error) !== 'ENOENT') throw error;
      });
      this.#names.free(name);
    }
  }

  async #named(staged: string, fileName: string, ending: string): Promise<string> {
    for (let number = 0; number < numbersMax; number += 1) {
      if (number % guessesMax === guessesMax - 1) number = Math.max(number, await this.#highest(fileName, ending)) + 1;
      const name = evidenceFileName(fileName, number === 0 ? ending : ` (${number})${ending}`);
      if (await this.#give(staged, name)) return name;
    }
    throw new Refusal('STORE_FULL', { at: this.#at, message: 'too many files have this name' });
  }

  /** False where there is something of that name: nothing is ever overwritten. */
  async #give(staged: string, name: string): Promise<boolean> {
    const path = pathOfEntry(this.#place, name);
    const from = pathOfEntry(this.#place, staged);
    try {
      await link(from, path);
      return true;
    } catch (error) {
      if (errorCode(error) === 'EEXIST') return false;
      if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(errorCode(error) ?? '')) throw error;
    }
    return giveWithoutLink(from, path);
  }

  /** The highest number that the name has in the directory. */
  async #highest(fileName: string, ending: string): Promise<number> {
    const directory = pathOfEntry(this.#place, '');
    const numbers = (await readdir(directory)).map((name) => {
      const between =
        name.startsWith(`${fileName} (`) && name.endsWith(`)${ending}`) ? name.slice(fileName.length + 2, -ending.length - 1) : '';
      return /^[0-9]{1,6}$/.test(between) ? Number(between) : 0;
    });
    return numbers.reduce((highest, number) => Math.max(highest, number), 0);
  }

  /** So that the names survive a loss of power. Some network shares cannot. */
  async #sync(): Promise<void> {
    const directory = await reopen(this.#place, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await directory.sync();
    } catch (error) {
      if (!['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'].includes(errorCode(error) ?? '')) throw error;
    } finally {
      await directory.close();
    }
  }
}

/** File systems without hard links: the name is taken by an empty file of ours, which the finished one then replaces. */
async function giveWithoutLink(from: string, path: string): Promise<boolean> {
  try {
    const reserved = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
    await reserved.close();
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false;
    throw error;
  }
  try {
    await rename(from, path);
    return true;
  } catch (error) {
    await unlink(path).catch(() => undefined);
    throw error;
  }
}
