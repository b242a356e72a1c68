import { existsSync } from 'node:fs';
import { link, open, rm, type FileHandle } from 'node:fs/promises';
import { reasonOf } from '../telemetry/reason-of.ts';
import { CommandError, exitCodes } from './exit-codes.ts';

/**
 * Writes a new file, mode 0600, which appears under its name once it is complete and on disk. An
 * existing file is not overwritten.
 * @throws {CommandError} if the file exists or cannot be written; nothing is left then
 */
export async function writeNewFile<T>(path: string, write: (out: FileHandle) => Promise<T>): Promise<T> {
  if (existsSync(path)) throw new CommandError(exitCodes.refused, `${path} already exists; it is not overwritten`);
  const partial = `${path}.${process.pid}.partial`;
  const out = await open(partial, 'wx', 0o600).catch((error: unknown) => {
    throw new CommandError(exitCodes.refused, `${path} cannot be written: ${reasonOf(error)}`);
  });
  try {
    const result = await write(out);
    await out.sync();
    // Unlike rename, link never replaces a file that somebody else has made meanwhile.
    await link(partial, path);
    return result;
  } finally {
    await out.close();
    await rm(partial, { force: true });
  }
}
