import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../telemetry/error-code.ts';

/** Space of a file system (statvfs(3)). */
export interface FreeSpace {
  /** Bytes that a process without privileges can write. */
  readonly availableBytes: number;
  readonly sizeBytes: number;
}

/**
 * Returns the space of the file system of a directory; of the nearest directory above it if it does
 * not exist yet.
 * @throws {Error} if the file system cannot be asked
 */
export async function freeSpaceOf(directory: string): Promise<FreeSpace> {
  try {
    const { bavail, blocks, bsize } = await statfs(directory);
    return { availableBytes: bavail * bsize, sizeBytes: blocks * bsize };
  } catch (error) {
    if (errorCode(error) !== 'ENOENT' || directory === dirname(directory)) throw error;
    return freeSpaceOf(dirname(directory));
  }
}
