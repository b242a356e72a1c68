import { constants } from 'node:fs';
import { link, lstat, open, readdir, rename, unlink, type FileHandle } from 'node:fs/promises';
import { Refusal } from '../../result-codes.ts';
import { closing, pathOfEntry, reopen } from './descriptors.ts';
import { evidenceFileName } from '../document.ts';
import { errorCode } from '../../telemetry/error-code.ts';

/** After this many taken numbers, the directory is read to find the highest. */
const guessesMax = 16;
const numbersMax = 1_000_000;

/** A file with complete and synced evidence under a temporary name, and its planned final name. */
export interface StagedFile {
  /** Temporary name, in the same directory. */
  readonly staged: string;
  /** Inode number, decimal, to distinguish the file from another one with its name. */
  readonly inode: string;
  /** Final name without extension and number. */
  readonly fileName: string;
  readonly ending: string;
  /** The planned final name. */
  readonly name: string;
}

/** A staged file exists neither under its temporary name nor under a final one. */
export class EvidenceGone extends Error {
  constructor(name: string) {
    super(`the staged file for ${name} is missing`);
    this.name = 'EvidenceGone';
  }
}

/** Yields the final names that a file may have, in order: as requested, then numbered. */
export async function* finalNames(place: FileHandle, fileName: string, ending: string, at: string): AsyncGenerator<string, never> {
  for (let number = 0; number < numbersMax; number += 1) {
    if (number % guessesMax === guessesMax - 1) number = Math.max(number, await highestNumber(place, fileName, ending)) + 1;
    // A name with more digits would not be found again (`numberIn`).
    if (number >= numbersMax) break;
    yield evidenceFileName(fileName, number === 0 ? ending : ` (${number})${ending}`);
  }
  throw new Refusal('STORE_FULL', { at, message: 'too many files with this name' });
}

/** Checks whether a directory has an entry with this name. */
export async function isTaken(place: FileHandle, name: string): Promise<boolean> {
  return (await inodeOf(place, name)) !== undefined;
}

/**
 * Gives a staged file its permissions and its final name: the planned one or, if that is now taken,
 * a numbered one that `mayTake` allows. Returns the name. It is idempotent, wherever it was
 * interrupted. The temporary name may remain.
 * @throws {EvidenceGone}
 * @throws file system errors
 */
export async function publishFile(
  place: FileHandle,
  file: StagedFile,
  { mode, at, mayTake }: { readonly mode: number; readonly at: string; readonly mayTake: (name: string) => boolean },
): Promise<string> {
  const { staged, inode, fileName, ending, name } = file;
  if (!(await isPrepared(place, staged, inode, mode))) {
    const found = await nameOf(place, file);
    if (found === undefined) throw new EvidenceGone(name);
    return found;
  }
  if (await give(place, file, name)) return name;
  for await (const other of finalNames(place, fileName, ending, at)) {
    if (mayTake(other) && (await give(place, file, other))) return other;
  }
  throw new EvidenceGone(name);
}

/** Removes the temporary name, if it exists. */
export async function removeStaged(place: FileHandle, staged: string): Promise<void> {
  await unlink(pathOfEntry(place, staged)).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error;
  });
}

/** Syncs a directory, so that its names survive a power failure. Some network shares cannot. */
export async function syncNames(place: FileHandle): Promise<void> {
  const directory = await reopen(place, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await directory.sync();
  } catch (error) {
    if (!['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'].includes(errorCode(error) ?? '')) throw error;
  } finally {
    await directory.close();
  }
}

/** Sets the permissions of the staged file. Returns false if it no longer exists. */
async function isPrepared(place: FileHandle, staged: string, inode: string, mode: number): Promise<boolean> {
  let handle: FileHandle;
  try {
    // Another user with write access may have replaced it with a FIFO, which would block, or a
    // socket (ENXIO).
    handle = await open(pathOfEntry(place, staged), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (['ENOENT', 'ENXIO'].includes(errorCode(error) ?? '')) return false;
    throw error;
  }
  return closing(handle, async () => {
    const { ino } = await handle.stat({ bigint: true });
    if (String(ino) !== inode) return false;
    await handle.chmod(mode);
    return true;
  });
}

/**
 * Links the file to the name. Returns true if the file has the name now, including from an earlier
 * run. Nothing is ever overwritten.
 */
async function give(place: FileHandle, { staged, inode }: StagedFile, name: string): Promise<boolean> {
  const path = pathOfEntry(place, name);
  const from = pathOfEntry(place, staged);
  try {
    await link(from, path);
    return true;
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return (await inodeOf(place, name)) === inode;
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes(errorCode(error) ?? '')) throw error;
  }
  return giveWithoutLink(from, path);
}

/**
 * Gives a file its name in a file system without hard links: the name is reserved by an empty file,
 * which the staged file then replaces. Returns false if the name is taken.
 */
export async function giveWithoutLink(from: string, path: string): Promise<boolean> {
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

/** Returns the final name that an earlier run gave to a file. */
async function nameOf(place: FileHandle, { inode, name, fileName, ending }: StagedFile): Promise<string | undefined> {
  if ((await inodeOf(place, name)) === inode) return name;
  for (const other of await readdir(pathOfEntry(place, ''))) {
    if (numberIn(other, fileName, ending) !== undefined && (await inodeOf(place, other)) === inode) return other;
  }
  return undefined;
}

async function inodeOf(place: FileHandle, name: string): Promise<string | undefined> {
  try {
    return String((await lstat(pathOfEntry(place, name), { bigint: true })).ino);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Returns the highest number used with the name in the directory. */
async function highestNumber(place: FileHandle, fileName: string, ending: string): Promise<number> {
  const numbers = (await readdir(pathOfEntry(place, ''))).map((name) => numberIn(name, fileName, ending) ?? 0);
  return numbers.reduce((highest, number) => Math.max(highest, number), 0);
}

/**
 * Returns the number of a numbered name. A name that was too long is shortened before the number.
 */
function numberIn(name: string, fileName: string, ending: string): number | undefined {
  const match = / \(([0-9]{1,6})\)$/.exec(name.endsWith(ending) ? name.slice(0, name.length - ending.length) : '');
  if (match?.[1] === undefined) return undefined;
  const suffix = `${match[0]}${ending}`;
  return evidenceFileName(fileName, suffix) === name ? Number(match[1]) : undefined;
}
