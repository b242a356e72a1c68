import { constants, type BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { Refusal } from '../../result-codes.ts';
import { reopen } from './descriptors.ts';
import { refusalOf } from './path-refusal.ts';
import { findPlace } from './walk.ts';

/** A regular file, open for reading. Who gets it closes it. */
export interface ReadableFile {
  readonly handle: FileHandle;
  /** What it was when it was opened: `hasChanged` compares with it. */
  readonly status: BigIntStats;
}

/**
 * Opens a file below one of the allowed directories. It is found without being opened, and opened once it is known to be a regular file: a FIFO or a device is
 * never touched. A file with further names is refused: who may write into an allowed directory could give a name in it to a file that lies elsewhere.
 * @throws {Refusal} FILE_ACCESS_DENIED, FILE_NOT_FOUND
 */
export async function openForReading(path: string, allowed: readonly string[], at: string): Promise<ReadableFile> {
  const { handle: place } = await findPlace(path, allowed, { at, what: 'file' });
  try {
    const { nlink } = checkRegular(await place.stat({ bigint: true }), at);
    if (nlink > 1n)
      throw new Refusal('FILE_ACCESS_DENIED', { at, message: 'the file has further names (hard links), and one may be outside' });
    const handle = await reopen(place, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY);
    try {
      return { handle, status: checkRegular(await handle.stat({ bigint: true }), at) };
    } catch (error) {
      await handle.close();
      throw error;
    }
  } catch (error) {
    throw refusalOf(error, at, 'file') ?? error;
  } finally {
    await place.close();
  }
}

/** Whether somebody has written to the file since it was opened. */
export async function hasChanged({ handle, status }: ReadableFile): Promise<boolean> {
  const { size, mtimeNs } = await handle.stat({ bigint: true });
  return size !== status.size || mtimeNs !== status.mtimeNs;
}

function checkRegular(status: BigIntStats, at: string): BigIntStats {
  if (status.isFile()) return status;
  throw new Refusal('FILE_ACCESS_DENIED', { at, message: 'this is no regular file' });
}
