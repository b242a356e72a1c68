import { randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { mkdir, open, readdir, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';

const namePrefix = '.spool-';
const pieceBytes = 256 * 1024;

/**
 * Files without names in a directory of this machine: they are gone when they are closed, or with
 * the process.
 */
export class Spool {
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  /** Creates the directory, and removes files that kept their names in a crash. */
  async prepare(): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
    const left = (await readdir(this.#directory)).filter((name) => name.startsWith(namePrefix));
    // One that is created just now by another instance may go before it does so itself.
    for (const name of left) await unlink(join(this.#directory, name)).catch(() => undefined);
  }

  /** Returns an empty file to write and to read. The caller must close it. */
  async newFile(): Promise<FileHandle> {
    const path = join(this.#directory, namePrefix + randomBytes(16).toString('hex'));
    const handle = await open(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o600);
    await unlink(path).catch(() => undefined);
    return handle;
  }
}

/** Returns the content of an open file, which stays open. */
export function contentOf(handle: FileHandle): Readable {
  return Readable.from(piecesOf(handle), { objectMode: false });
}

async function* piecesOf(handle: FileHandle): AsyncGenerator<Buffer, void> {
  for (let position = 0; ;) {
    const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafeSlow(pieceBytes), 0, pieceBytes, position);
    if (bytesRead === 0) return;
    yield buffer.subarray(0, bytesRead);
    position += bytesRead;
  }
}
