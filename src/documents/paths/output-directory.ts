import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { closing } from '../closing.ts';
import { pathOfEntry } from './descriptors.ts';
import { finalNames, isTaken, publishFile, removeStaged, syncNames, type StagedFile } from './file-publication.ts';
import { notFound, refusalOf } from './path-refusal.ts';
import type { StagedNames } from './staged-names.ts';
import { findPlace } from './walk.ts';

/** Evidence staged in a directory, as the journal of publications has it. */
export interface StagedDirectory {
  readonly kind: 'directory';
  readonly path: string;
  /** Permission bits that the files are to have. */
  readonly mode: number;
  readonly files: readonly StagedFile[];
}

interface Options {
  readonly names: StagedNames;
  /** JSON Pointer of the directory in the request. */
  readonly at: string;
  readonly mode: number;
}

/**
 * A directory that evidence is written into: under temporary names that the service's user alone can read, until it is published. Everything begins at its
 * descriptor: whoever renames it or puts a link in its place changes nothing.
 */
export class OutputDirectory {
  readonly #path: string;
  readonly #place: FileHandle;
  readonly #names: StagedNames;
  readonly #at: string;
  readonly #mode: number;
  /** Device and inode: what the directory is, whatever its path. */
  readonly #identity: string;
  readonly #staged: StagedFile[] = [];

  private constructor({ path, place, identity }: { path: string; place: FileHandle; identity: string }, { names, at, mode }: Options) {
    this.#path = path;
    this.#place = place;
    this.#identity = identity;
    this.#names = names;
    this.#at = at;
    this.#mode = mode;
  }

  /** `mode`: permission bits of what is published. @throws {Refusal} FILE_ACCESS_DENIED, FILE_NOT_FOUND */
  static async open(path: string, allowed: readonly string[], options: Options): Promise<OutputDirectory> {
    const { handle, isDirectory } = await findPlace(path, allowed, { at: options.at, what: 'directory' });
    if (isDirectory) return new OutputDirectory({ path, place: handle, identity: await identityOf(handle) }, options);
    await handle.close();
    throw notFound(options.at, 'directory');
  }

  /** Opens the directory of evidence that an earlier run staged. The staged names tell that it is the same one. @throws as `open` */
  static async openAgain({ path, mode, files }: StagedDirectory, allowed: readonly string[], names: StagedNames): Promise<OutputDirectory> {
    const directory = await OutputDirectory.open(path, allowed, { names, at: '', mode });
    directory.#staged.push(...files);
    return directory;
  }

  get hasStaged(): boolean {
    return this.#staged.length > 0;
  }

  /** For the journal: what finds the staged files again. */
  get journal(): StagedDirectory {
    return { kind: 'directory', path: this.#path, mode: this.#mode, files: [...this.#staged] };
  }

  /**
   * Has a file written under a temporary name; `write` fills and syncs it. Answers the final name that is planned for it: as asked, or numbered where
   * that is taken.
   * @throws {Refusal} STORE_FULL, FILE_ACCESS_DENIED
   */
  async stage(
    { fileName, ending }: { readonly fileName: string; readonly ending: string },
    write: (file: FileHandle) => Promise<void>,
  ): Promise<string> {
    const staged = this.#names.take();
    try {
      const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
      const handle = await open(pathOfEntry(this.#place, staged), flags, 0o600).catch((error: unknown) => {
        // There is nothing of that name to be removed.
        this.#names.free(staged);
        throw error;
      });
      const { inode, name } = await closing(handle, async () => {
        try {
          await write(handle);
          const { ino } = await handle.stat({ bigint: true });
          return { inode: String(ino), name: await this.#planned(fileName, ending) };
        } catch (error) {
          await this.#remove(staged);
          throw error;
        }
      });
      this.#staged.push({ staged, inode, fileName, ending, name });
      return name;
    } catch (error) {
      throw this.#refused(error);
    }
  }

  /**
   * Gives the staged files their final names. Answers the paths that are others than planned. Done again, it comes to the same.
   * @throws {Refusal} STORE_FULL, FILE_ACCESS_DENIED
   * @throws {EvidenceGone}
   */
  async publish(): Promise<ReadonlyMap<string, string>> {
    const renamed = new Map<string, string>();
    const mayTake = (name: string): boolean => !this.#names.isPlanned(this.#identity, name);
    try {
      for (const file of this.#staged) {
        const given = await publishFile(this.#place, file, { mode: this.#mode, at: this.#at, mayTake });
        if (given !== file.name) renamed.set(this.pathOf(file.name), this.pathOf(given));
      }
      await syncNames(this.#place);
    } catch (error) {
      throw this.#refused(error);
    }
    return renamed;
  }

  pathOf(name: string): string {
    return `${this.#path.replace(/\/+$/, '')}/${name}`;
  }

  /** Removes the temporary names: after the files were published, or instead of it. */
  async clear(): Promise<void> {
    for (const { staged, name } of this.#staged.splice(0)) {
      this.#names.endPlan(this.#identity, name);
      await this.#remove(staged);
    }
  }

  /** What is staged still stays, for a later run to publish. */
  async close(): Promise<void> {
    for (const { name } of this.#staged.splice(0)) this.#names.endPlan(this.#identity, name);
    await this.#place.close();
  }

  async #planned(fileName: string, ending: string): Promise<string> {
    for await (const name of finalNames(this.#place, fileName, ending, this.#at)) {
      if (!this.#names.plan(this.#identity, name)) continue;
      try {
        if (!(await isTaken(this.#place, name))) return name;
      } catch (error) {
        this.#names.endPlan(this.#identity, name);
        throw error;
      }
      this.#names.endPlan(this.#identity, name);
    }
    throw notFound(this.#at, 'directory');
  }

  async #remove(staged: string): Promise<void> {
    await removeStaged(this.#place, staged);
    this.#names.free(staged);
  }

  #refused(error: unknown): unknown {
    return refusalOf(error, this.#at, 'directory') ?? error;
  }
}

async function identityOf(place: FileHandle): Promise<string> {
  const { dev, ino } = await place.stat({ bigint: true });
  return `${dev}:${ino}`;
}
