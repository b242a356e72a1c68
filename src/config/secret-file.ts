import { closeSync, constants, fstatSync, openSync, readlinkSync, type Stats } from 'node:fs';
import { join, resolve } from 'node:path';
import { errorCode } from '../telemetry/error-code.ts';

/** Linux's O_PATH (open(2)), which Node does not define: refers to a place without opening it. */
const O_PATH = 0o10000000;

/** Only the owner of an entry, that of the directory, and root can rename or remove it (inode(7)). */
const stickyBit = 0o1000;

/** As many as the kernel follows (path_resolution(7)). */
const linksMax = 40;

/** Kubernetes replaces the directory behind its links while somebody is on the way to a file. */
const attemptsMax = 10;

export interface OpenedFile {
  readonly descriptor: number;
  readonly stats: Stats;
  /** Whether a symbolic link led to it. */
  readonly isLinked: boolean;
}

/** Why a file is not opened, in words for the operator, without the reference to it. */
export class FileFault extends Error {}

/**
 * Opens a regular file for reading. A symbolic link, wherever it is on the way, is followed only
 * if nobody else could have made it lead elsewhere: it and every directory from the root to the
 * file belong to root or this process's user, and nobody else may write in these directories. One
 * with the sticky bit may be written by others, who can replace nothing there. A path without a
 * link is judged by the file alone, as it always was.
 *
 * Each part is opened by itself, relative to the directory before it, and judged by its
 * descriptor; the file that is judged is the one that is read.
 * @param path absolute
 * @throws {FileFault}
 */
export function openSecretFile(path: string): OpenedFile {
  for (let attempt = 1; ; attempt += 1) {
    const walk = new Walk();
    try {
      return walk.to(path);
    } catch (error) {
      if (errorCode(error) === undefined) throw error;
      if (errorCode(error) === 'ENOENT' && walk.isLinked && attempt < attemptsMax) continue;
      throw new FileFault(walk.faultOf(error), { cause: error });
    } finally {
      walk.end();
    }
  }
}

/** One way from the root directory to a file. */
class Walk {
  #directory = openSync('/', O_PATH | constants.O_DIRECTORY);
  /** The path of the directory, with all links resolved. */
  #path = '/';
  #links = 0;
  /** The first directory on the way where others could have put a link. */
  #fault = directoryFault(fstatSync(this.#directory), '/');

  get isLinked(): boolean {
    return this.#links > 0;
  }

  to(path: string): OpenedFile {
    const parts = partsOf(path);
    for (let name = parts.shift(); name !== undefined; name = parts.shift()) {
      const place = openSync(this.#entry(name), O_PATH | constants.O_NOFOLLOW);
      const stats = fstatSync(place);
      try {
        if (stats.isSymbolicLink()) {
          parts.unshift(...this.#follow(name, stats));
        } else if (parts.length > 0) {
          this.#enter(openSync(`/proc/self/fd/${place}`, O_PATH | constants.O_DIRECTORY), resolve(this.#path, name));
        } else if (stats.isFile()) {
          // The same file, whatever has its name by now.
          return { descriptor: openSync(`/proc/self/fd/${place}`, constants.O_RDONLY), stats, isLinked: this.isLinked };
        }
      } finally {
        closeSync(place);
      }
    }
    throw new FileFault('not a regular file');
  }

  end(): void {
    closeSync(this.#directory);
  }

  faultOf(error: unknown): string {
    const code = errorCode(error) ?? '';
    if (code === 'ENOENT') return 'there is no such file';
    const reason = code === 'EACCES' ? 'permission denied' : code === 'ENOTDIR' ? 'a part of the path is not a directory' : code;
    return `the file cannot be opened: ${reason}`;
  }

  #entry(name: string): string {
    return `/proc/self/fd/${this.#directory}/${name}`;
  }

  #enter(directory: number, path: string): void {
    closeSync(this.#directory);
    this.#directory = directory;
    this.#path = path;
    this.#fault ??= directoryFault(fstatSync(directory), path);
    if (this.isLinked) this.#check();
  }

  /** Returns the parts of the link's target. Nobody else can change the link between check and use. */
  #follow(name: string, { uid }: Stats): string[] {
    const link = join(this.#path, name);
    if (!isOwn(uid)) throw new FileFault(`${link} is a symbolic link of user ${uid}; name the file itself`);
    this.#links += 1;
    this.#check();
    if (this.#links > linksMax) throw new FileFault(`${link}: too many symbolic links`);
    const target = readlinkSync(this.#entry(name));
    if (target.startsWith('/')) this.#enter(openSync('/', O_PATH | constants.O_DIRECTORY), '/');
    return partsOf(target);
  }

  #check(): void {
    if (this.#fault !== undefined) throw new FileFault(`a symbolic link leads to the file, and ${this.#fault}; name the file itself`);
  }
}

function partsOf(path: string): string[] {
  return path.split('/').filter((part) => part !== '' && part !== '.');
}

/** Returns how somebody else could replace what is in a directory; undefined if nobody can. */
function directoryFault({ uid, mode }: Stats, path: string): string | undefined {
  if (!isOwn(uid)) return `${path} belongs to user ${uid}`;
  return (mode & 0o022) !== 0 && (mode & stickyBit) === 0 ? `others may write in ${path}` : undefined;
}

/** Whether a file of this user is changed by nobody but root and this process. */
export function isOwn(uid: number): boolean {
  return uid === 0 || uid === process.geteuid?.();
}
