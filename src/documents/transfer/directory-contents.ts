import { constants } from 'node:fs';
import { mkdir, open, readdir, stat, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { TransferFileRow } from '../../state/tables/transfer-files.ts';
import type { ArrivingContent, ListedContent, TransferContents } from './contents.ts';
import { fileIdForm } from './transfer-parts.ts';
import { errorCode } from '../../telemetry/error-code.ts';
import { syncDirectory } from '../../service/sync-directory.ts';

const listedAtOnce = 100;

/**
 * Keeps the content in the files of a directory, which instances share over a network file system.
 */
export class DirectoryContents implements TransferContents {
  readonly fault = undefined;
  readonly #directory: string;

  constructor(directory: string) {
    this.#directory = directory;
  }

  async prepare(): Promise<void> {
    await mkdir(this.#directory, { recursive: true, mode: 0o700 });
  }

  async create(id: string): Promise<ArrivingContent> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const handle = await open(this.#pathOf(id), flags, 0o600);
    return {
      handle,
      isLasting: true,
      keep: async () => {
        await handle.sync();
        await syncDirectory(this.#directory);
      },
      close: async () => handle.close(),
    };
  }

  async open({ id, bytes }: TransferFileRow): Promise<FileHandle | undefined> {
    let handle: FileHandle;
    try {
      handle = await open(this.#pathOf(id), constants.O_RDONLY | constants.O_NOFOLLOW);
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
    const { size } = await handle.stat();
    if (size === bytes) return handle;
    await handle.close();
    throw new Error(`a file of the transfer store has ${size} bytes on disk, but was stored with ${bytes}`);
  }

  async openInOrder(file: TransferFileRow): Promise<FileHandle | undefined> {
    return this.open(file);
  }

  async remove(id: string): Promise<void> {
    await unlink(this.#pathOf(id)).catch((error: unknown) => {
      if (errorCode(error) !== 'ENOENT') throw error;
    });
  }

  async *list(): AsyncGenerator<readonly ListedContent[], void> {
    const names = (await readdir(this.#directory)).filter((name) => fileIdForm.test(name));
    for (let index = 0; index < names.length; index += listedAtOnce) {
      const listed: ListedContent[] = [];
      for (const id of names.slice(index, index + listedAtOnce)) {
        const changedAtMs = await this.#changedAtMs(id);
        if (changedAtMs !== undefined) listed.push({ id, changedAtMs });
      }
      yield listed;
    }
  }

  async probe(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    // Nothing is kept open.
  }

  async #changedAtMs(id: string): Promise<number | undefined> {
    try {
      return (await stat(this.#pathOf(id))).mtimeMs;
    } catch (error) {
      // Removed meanwhile.
      if (errorCode(error) === 'ENOENT') return undefined;
      throw error;
    }
  }

  #pathOf(id: string): string {
    return join(this.#directory, id);
  }
}
