import { link, open, rename, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { errorCode } from '../telemetry/error-code.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { removeAbandoned, unfinishedName } from './abandoned-files.ts';
import { syncDirectory } from './sync-directory.ts';

const suffix = 'part';

/**
 * Writes a new file, mode 0600, which gets its name once it is complete and on disk. Nothing is left
 * of one that fails or is interrupted by a signal; the next call removes what a killed process left.
 * @throws {Error} if the file exists or cannot be written; the error of `write`
 */
export async function writeNewFile<T>(path: string, write: (out: FileHandle) => Promise<T>): Promise<T> {
  removeAbandoned([path], suffix);
  const unfinished = unfinishedName(path, suffix);
  const opening = open(unfinished, 'wx', 0o600);
  const end = removingOnSignal(unfinished, opening);
  try {
    const out = await opening.catch((error: unknown) => {
      throw new Error(`${path} cannot be written: ${reasonOf(error)}`, { cause: error });
    });
    try {
      const result = await write(out);
      await out.sync();
      await giveName(unfinished, path);
      return result;
    } finally {
      await out.close();
      await rm(unfinished, { force: true });
    }
  } finally {
    end();
  }
}

/** Gives the file its name, unless another has it. */
async function giveName(unfinished: string, path: string): Promise<void> {
  try {
    // Unlike rename, link never replaces a file that somebody else has made meanwhile.
    await link(unfinished, path);
  } catch (error) {
    // File systems without hard links, such as those of memory sticks.
    if (!['EPERM', 'EOPNOTSUPP', 'ENOSYS'].includes(errorCode(error) ?? '')) throw error;
    await rename(unfinished, path);
  }
  await syncDirectory(dirname(path));
}

/**
 * A terminal's interrupt, and a stop of the unit, leave nothing behind.
 * @param opening settles when the file is there, or cannot be made
 */
function removingOnSignal(path: string, opening: Promise<unknown>): () => void {
  const numbers = { SIGINT: 2, SIGTERM: 15, SIGHUP: 1 } as const;
  const handlers = Object.entries(numbers).map(([name, number]) => {
    const handler = (): void => {
      void opening
        .catch(() => undefined)
        .then(async () => rm(path, { force: true }))
        .finally(() => process.exit(128 + number));
    };
    process.once(name, handler);
    return [name, handler] as const;
  });
  return () => {
    for (const [name, handler] of handlers) process.removeListener(name, handler);
  };
}
