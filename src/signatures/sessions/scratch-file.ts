import { randomUUID } from 'node:crypto';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Refusal } from '../../result-codes.ts';

/** Writes parts into a file without a name, so that nothing stays of it whatever happens. Who gets it closes it. */
export async function scratchFile(directory: string, parts: AsyncIterable<Uint8Array>): Promise<FileHandle> {
  const path = join(directory, `signetd-${randomUUID()}`);
  const file = await orFull(open(path, 'wx+', 0o600));
  try {
    await orFull(unlink(path));
    for await (const part of parts) await orFull(file.appendFile(part));
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

/** @throws {Refusal} STORE_FULL where the disk cannot be written */
async function orFull<T>(writing: Promise<T>): Promise<T> {
  try {
    return await writing;
  } catch (error) {
    throw new Refusal('STORE_FULL', { message: 'the scratch directory cannot be written; the session stays open', cause: error });
  }
}
