import { constants } from 'node:fs';
import { open } from 'node:fs/promises';

/** Syncs a directory, so that the names in it survive a power failure. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
