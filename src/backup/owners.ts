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

/** Files and directories that keep their owner, since this machine lacks the user or the group. */
export class MissingOwners {
  readonly #missing = new Set<string>();
  readonly #paths: string[] = [];

  /** @param missing what `own` returns */
  add(path: string, missing: readonly string[]): void {
    if (missing.length === 0) return;
    this.#paths.push(path);
    for (const one of missing) this.#missing.add(one);
  }

  /** One note for all of them, however many they are. */
  notes(): string[] {
    const [first] = this.#paths;
    if (first === undefined) return [];
    const more = this.#paths.length === 1 ? `${first} belongs` : `${first} and ${this.#paths.length - 1} more files and directories belong`;
    return [
      `this machine has no ${[...this.#missing].join(', no ')}: ${more} to root; where a package of signetd makes them, install it and restore again`,
    ];
  }
}

/**
 * Gives a file or directory its owner and permissions. Only root can give a file to another user:
 * for others, and for owners that this machine does not have, it keeps its owner.
 * @returns the user and the group that this machine lacks, in words
 * @throws {Error} if it is a symbolic link, which the owner of its directory may have put there
 */
export function own(path: string, { user, group, mode }: Ownership): string[] {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    // The kernel clears some bits when the owner changes, so the mode comes last.
    const missing = process.geteuid?.() === 0 ? give(file, user, group) : [];
    fchmodSync(file, mode);
    return missing;
  } finally {
    closeSync(file);
  }
}

function give(file: number, user: string, group: string): string[] {
  const uid = numberOf('passwd', user);
  const gid = numberOf('group', group);
  if (uid !== undefined && gid !== undefined) fchownSync(file, uid, gid);
  return [...(uid === undefined ? [`user "${user}"`] : []), ...(gid === undefined ? [`group "${group}"`] : [])];
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
