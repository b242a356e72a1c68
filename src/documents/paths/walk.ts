import type { FileHandle } from 'node:fs/promises';
import { closing, linkIn, openEntry, openPlace, realPath } from './descriptors.ts';
import { denied, notFound, refusalOf } from './path-refusal.ts';
import { errorCode } from '../../telemetry/error-code.ts';

/** The kernel's own limit (path_resolution(7)). */
const linksMax = 40;

/** A place inside an allowed directory. The caller must close it. */
export interface Place {
  /** Opened with O_PATH: refers to the file or directory without giving access to its content. */
  readonly handle: FileHandle;
  readonly isDirectory: boolean;
}

/** Kind of place and its field, for the text of a refusal. */
interface Sought {
  /** JSON Pointer of the field with the path. */
  readonly at: string;
  readonly what: 'file' | 'directory';
}

/**
 * Finds a path below one of the allowed directories (contract §4). Each step starts at the
 * descriptor of the previous directory and does not follow links; instead, links are read and
 * resolved in the same way, and one that leads outside the allowed directories is refused. So
 * nothing outside is accessed, even if names are swapped meanwhile.
 * @throws {Refusal} FILE_ACCESS_DENIED, FILE_NOT_FOUND
 */
export async function findPlace(path: string, allowed: readonly string[], sought: Sought): Promise<Place> {
  const walk = new Walk(allowed, sought);
  try {
    return await walk.to(path);
  } catch (error) {
    throw refusalOf(error, sought.at, sought.what) ?? error;
  } finally {
    await walk.close();
  }
}

class Walk {
  readonly #allowed: readonly string[];
  readonly #sought: Sought;
  /** Directories on the path, from an allowed one down. */
  #stack: FileHandle[] = [];
  #left: string[] = [];
  #links = 0;

  constructor(allowed: readonly string[], sought: Sought) {
    this.#allowed = allowed;
    this.#sought = sought;
  }

  async to(path: string): Promise<Place> {
    if (!path.startsWith('/') || path.includes('\0')) throw this.#denied();
    if (!(await this.#enter(path, this.#allowed))) throw this.#denied();
    for (let name = this.#left.shift(); name !== undefined; name = this.#left.shift()) {
      const found = await this.#step(name);
      if (found !== undefined) return this.#checked({ handle: found, isDirectory: false });
    }
    const handle = this.#stack.pop();
    if (handle === undefined) throw this.#denied();
    return this.#checked({ handle, isDirectory: true });
  }

  async close(): Promise<void> {
    for (const handle of this.#stack.splice(0)) await handle.close();
  }

  /**
   * Starts at the allowed directory that contains the path, if any; the rest of the path remains to
   * be walked.
   */
  async #enter(path: string, roots: readonly string[]): Promise<boolean> {
    const steps = stepsOf(path);
    const [root] = roots.filter((one) => isBelow(steps, stepsOf(one))).toSorted((one, other) => other.length - one.length);
    if (root === undefined) return false;
    await this.close();
    this.#stack = [await openPlace(root)];
    this.#left = [...steps.slice(stepsOf(root).length), ...this.#left];
    return true;
  }

  /**
   * Takes one step down, up, or along a link. Returns the entry at the end of the path if it is not
   * a directory.
   */
  async #step(name: string): Promise<FileHandle | undefined> {
    const directory = this.#stack.at(-1);
    // It has left the allowed directory.
    if (directory === undefined) throw this.#denied();
    if (name === '..') {
      await this.#stack.pop()?.close();
      return undefined;
    }
    const entry = await openEntry(directory, name);
    let isKept = false;
    try {
      const status = await entry.stat();
      if (status.isSymbolicLink()) {
        await this.#follow(directory, name);
        return undefined;
      }
      if (status.isDirectory()) {
        this.#stack.push(entry);
        isKept = true;
        return undefined;
      }
      if (this.#left.length > 0) throw notFound(this.#sought.at, this.#sought.what);
      isKept = true;
      return entry;
    } finally {
      if (!isKept) await entry.close();
    }
  }

  async #follow(directory: FileHandle, name: string): Promise<void> {
    this.#links += 1;
    if (this.#links > linksMax) throw this.#denied();
    let target: string;
    try {
      target = await linkIn(directory, name);
    } catch (error) {
      // It was a link a moment ago; try again, and count it as another link.
      if (errorCode(error) !== 'EINVAL') throw error;
      target = name;
    }
    if (!target.startsWith('/')) this.#left.unshift(...stepsOf(target));
    else if (!(await this.#enter(target, [...this.#allowed, ...(await realPaths(this.#allowed))]))) throw this.#denied();
  }

  /**
   * Checks that the result is still in an allowed directory, since directories may have been moved
   * during the walk.
   */
  async #checked(place: Place): Promise<Place> {
    const steps = stepsOf(await realPath(place.handle));
    if ((await realPaths(this.#allowed)).some((root) => isBelow(steps, stepsOf(root)))) return place;
    await place.handle.close();
    throw this.#denied();
  }

  #denied(): Error {
    return denied(this.#sought.at);
  }
}

/** Returns the real paths of those allowed directories that exist. */
async function realPaths(allowed: readonly string[]): Promise<string[]> {
  const paths = await Promise.all(
    allowed.map(async (root) => {
      try {
        const handle = await openPlace(root);
        return await closing(handle, async () => realPath(handle));
      } catch {
        return [];
      }
    }),
  );
  return paths.flat();
}

function stepsOf(path: string): string[] {
  return path.split('/').filter((step) => step !== '' && step !== '.');
}

function isBelow(steps: readonly string[], root: readonly string[]): boolean {
  return root.every((step, index) => steps[index] === step);
}
