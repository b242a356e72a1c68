import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { closing, pathOfEntry } from './descriptors.ts';
import { finalNames, isTaken, publishFile, removeStaged, syncNames, type StagedFile } from './file-publication.ts';
import { notFound, refusalOf } from './path-refusal.ts';
import type { StagedNames } from './staged-names.ts';
import { findPlace } from './walk.ts';

/** Evidence staged in a directory, as recorded in the journal of publications. */
export interface StagedDirectory {
  readonly kind: 'directory';
  readonly path: string;
  /** Permission bits for the published files. */
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
 * A directory for evidence. Files are written under temporary names, readable by the service's user
 * only, until they are published. All access goes through its descriptor, so renaming it or
 * replacing it with a link has no effect.
 */
export class OutputDirectory {
  readonly #path: string;
  readonly #place: FileHandle;
  readonly #names: StagedNames;
  readonly #at: string;
  readonly #mode: number;
  /** Device and inode, which identify the directory whatever its path. */
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

  /**
   * Opens a directory. `mode`: permission bits for published files.
   * @throws {Refusal} FILE_ACCESS_DENIED, FILE_NOT_FOUND
   */
  static async open(path: string, allowed: readonly string[], options: Options): Promise<OutputDirectory> {
    const { handle, isDirectory } = await findPlace(path, allowed, { at: options.at, what: 'directory' });
    if (isDirectory) return new OutputDirectory({ path, place: handle, identity: await identityOf(handle) }, options);
    await handle.close();
    throw notFound(options.at, 'directory');
  }

  /**
   * Opens the directory of evidence staged by an earlier run. The staged names show that it is the
   * same one. Throws the same errors as `open`.
   */
  static async openAgain({ path, mode, files }: StagedDirectory, allowed: readonly string[], names: StagedNames): Promise<OutputDirectory> {
    const directory = await OutputDirectory.open(path, allowed, { names, at: '', mode });
    directory.#staged.push(...files);
    return directory;
  }

  get hasStaged(): boolean {
    return this.#staged.length > 0;
  }

  /** Journal entry from which the staged files can be found again. */
  get journal(): StagedDirectory {
    return { kind: 'directory', path: this.#path, mode: this.#mode, files: [...this.#staged] };
  }

  /**
   * Creates a file under a temporary name, which `write` fills and syncs. Returns its planned final
   * name: as requested or, if that is taken, numbered.
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
        // No file with that name exists.
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
   * Gives the staged files their final names. Returns the paths that differ from the planned ones.
   * It is idempotent.
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

  /** Removes the temporary names, after the files were published or instead. */
  async clear(): Promise<void> {
    for (const { staged, name } of this.#staged.splice(0)) {
      this.#names.endPlan(this.#identity, name);
      await this.#remove(staged);
    }
  }

  /** Closes the directory. Staged files remain, for a later run to publish. */
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
