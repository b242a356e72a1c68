import { constants, type BigIntStats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { Refusal } from '../../result-codes.ts';
import { reopen } from './descriptors.ts';
import { refusalOf } from './path-refusal.ts';
import { findPlace } from './walk.ts';

/** A regular file, open for reading. The caller must close it. */
export interface ReadableFile {
  readonly handle: FileHandle;
  /** Status when it was opened, for `hasChanged`. */
  readonly status: BigIntStats;
}

/**
 * Opens a file below one of the allowed directories. It is located without being opened, and opened
 * only if it is a regular file, never a FIFO or device. A file with several names is refused:
 * anyone with write access to an allowed directory could link a file from elsewhere into it.
 * @throws {Refusal} FILE_ACCESS_DENIED, FILE_NOT_FOUND
 */
export async function openForReading(path: string, allowed: readonly string[], at: string): Promise<ReadableFile> {
  const { handle: place } = await findPlace(path, allowed, { at, what: 'file' });
  try {
    const { nlink } = checkRegular(await place.stat({ bigint: true }), at);
    if (nlink > 1n)
      throw new Refusal('FILE_ACCESS_DENIED', { at, message: 'the file has several names (hard links), one of which may be outside' });
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

/** Checks whether the file has been modified since it was opened. */
export async function hasChanged({ handle, status }: ReadableFile): Promise<boolean> {
  const { size, mtimeNs } = await handle.stat({ bigint: true });
  return size !== status.size || mtimeNs !== status.mtimeNs;
}

function checkRegular(status: BigIntStats, at: string): BigIntStats {
  if (status.isFile()) return status;
  throw new Refusal('FILE_ACCESS_DENIED', { at, message: 'not a regular file' });
}
