import { execFileSync } from 'node:child_process';
import { closeSync, constants, fchmodSync, fchownSync, openSync, type Stats } from 'node:fs';

/** Owner, group and permission bits of a file. */
export interface Ownership {
  readonly user: string;
  readonly group: string;
  readonly mode: number;
}

const names = new Map<string, string>();
const numbers = new Map<string, number | undefined>();

/** Returns the owner by name, or by number if it has no name. */
export function ownershipOf({ uid, gid, mode }: Stats): Ownership {
  return { user: nameOf('passwd', uid), group: nameOf('group', gid), mode: mode & 0o7777 };
}

/**
 * Gives a file or directory its owner and permissions. Only root can give a file to another user:
 * for others, and for owners that this machine does not have, it keeps its owner, and the result
 * says so.
 * @throws {Error} if it is a symbolic link, which the owner of its directory may have put there
 */
export function own(path: string, { user, group, mode }: Ownership): string | undefined {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    // The kernel clears some bits when the owner changes, so the mode comes last.
    const fault = process.geteuid?.() === 0 ? give(file, path, user, group) : undefined;
    fchmodSync(file, mode);
    return fault;
  } finally {
    closeSync(file);
  }
}

function give(file: number, path: string, user: string, group: string): string | undefined {
  const uid = numberOf('passwd', user);
  const gid = numberOf('group', group);
  if (uid === undefined || gid === undefined)
    return `${path}: this machine has no ${uid === undefined ? `user "${user}"` : `group "${group}"`}; the file belongs to root`;
  fchownSync(file, uid, gid);
  return undefined;
}

function nameOf(database: 'passwd' | 'group', number: number): string {
  const key = `${database} ${number}`;
  const name = names.get(key) ?? entry(database, String(number))?.[0] ?? String(number);
  names.set(key, name);
  return name;
}

function numberOf(database: 'passwd' | 'group', name: string): number | undefined {
  const key = `${database} ${name}`;
  if (numbers.has(key)) return numbers.get(key);
  const text = entry(database, name)?.[2];
  const number = text === undefined ? (/^\d+$/.test(name) ? Number(name) : undefined) : Number(text);
  numbers.set(key, number);
  return number;
}

/** Asks the C library, which knows more than the files in /etc. */
function entry(database: 'passwd' | 'group', key: string): string[] | undefined {
  try {
    return execFileSync('getent', [database, key], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
      .split('\n')[0]
      ?.split(':');
  } catch {
    return undefined;
  }
}
