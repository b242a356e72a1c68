import { lstatSync, readlinkSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { native } from './native.ts';

export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

/** As many as the kernel follows (path_resolution(7)). */
const linksMax = 40;

/**
 * Returns the user whom a file or directory belongs to, or who has made a symbolic link on the way
 * to it. Undefined if that is root, if there is no such file, or if this process is not root.
 * @throws {Error} if it cannot be determined
 */
export function foreignOwner(path: string): FileOwner | undefined {
  return process.geteuid?.() === 0 ? ownerOnTheWay(resolve(path), linksMax) : undefined;
}

function ownerOnTheWay(path: string, links: number): FileOwner | undefined {
  const parts = path.split(sep).filter((part) => part !== '');
  for (const index of parts.keys()) {
    const at = join(sep, ...parts.slice(0, index + 1));
    const stats = lstatSync(at, { throwIfNoEntry: false });
    if (stats === undefined) return undefined;
    const isLast = index === parts.length - 1;
    if (stats.uid !== 0 && (isLast || stats.isSymbolicLink())) return { uid: stats.uid, gid: stats.gid };
    if (!stats.isSymbolicLink()) continue;
    if (links === 0) throw new Error(`${at}: too many symbolic links`);
    return ownerOnTheWay(resolve(dirname(at), readlinkSync(at), ...parts.slice(index + 1)), links - 1);
  }
  return undefined;
}

/**
 * Opens files in a directory as its owner, if this process is root: whatever the owner puts there
 * meanwhile, such as a symbolic link, leads root nowhere that the owner cannot write.
 * @param use must not start threads
 */
export function asOwnerOf<T>(directory: string, use: () => T): T {
  const owner = foreignOwner(directory);
  if (owner === undefined) return use();
  const groups = process.getgroups?.() ?? [];
  try {
    // If it is refused, the groups may have changed already.
    native().accessFilesAs(owner.uid, owner.gid, [owner.gid]);
    return use();
  } finally {
    native().accessFilesAs(0, process.getegid?.() ?? 0, groups);
  }
}

/** The same for everything that this thread does from now on. */
export async function becomeOwnerOf(directory: string): Promise<void> {
  const owner = foreignOwner(directory);
  if (owner === undefined) return;
  // Node's pool of threads for files serves the whole process, and starts with its first use.
  await access('/');
  native().accessFilesAs(owner.uid, owner.gid, [owner.gid]);
}

/**
 * Connects a Unix socket as another user, if this process is root: the server sees that user (peer
 * authentication).
 * @param connect must not start threads
 * @throws {Error} if it is refused
 */
export function connectAs<T>(uid: number, connect: () => T): T {
  if (process.geteuid?.() !== 0 || uid === 0) return connect();
  native().actAs(uid);
  try {
    return connect();
  } finally {
    native().actAs(0);
  }
}
