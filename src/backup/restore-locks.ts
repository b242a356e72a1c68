import { lstatSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DirectoryLock } from '../service/directory-lock.ts';
import { asOwnerOf } from '../service/file-owner.ts';
import { claimAlone } from '../state/sqlite/sqlite-database.ts';
import type { Manifest } from './manifest.ts';
import { own, ownershipOf } from './owners.ts';
import type { Targets } from './restore-targets.ts';

interface Lock {
  release(): void;
}

interface Places {
  readonly state: string | undefined;
  readonly audit: string | undefined;
  readonly account: string | undefined;
}

/** The database and the directories that have a lock. */
function lockedPlaces({ audit, account }: Manifest, { root, targets }: Targets): Places {
  const kinds = new Set(targets.map(({ part }) => part.kind));
  return {
    state: targets.find(({ part }) => part.kind === 'state')?.path,
    audit: audit !== null && kinds.has('audit') ? join(root, audit.directory) : undefined,
    account: account !== null && kinds.has('account') ? join(root, account.directory) : undefined,
  };
}

/** Paths of the files that `lockForRestore` makes where there are none. */
export function lockFiles(manifest: Manifest, targets: Targets): string[] {
  const { state, audit, account } = lockedPlaces(manifest, targets);
  return [
    state === undefined ? [] : `${state}-lock`,
    ...[audit, account].map((one) => (one === undefined ? [] : join(one, 'lock'))),
  ].flat();
}

/**
 * Takes the locks that the service and the token host hold while they run, so that neither runs nor
 * starts during a restore. The directories must exist.
 * @throws {Error} if one of them runs
 */
export function lockForRestore(manifest: Manifest, targets: Targets): Lock {
  const locks: Lock[] = [];
  const release = (): void => {
    for (const lock of locks) lock.release();
  };
  try {
    const { state, audit, account } = lockedPlaces(manifest, targets);
    if (state !== undefined) locks.push(ownedByDirectory(`${state}-lock`, () => claimAlone(state)));
    const directories = [
      [audit, 'the audit log'],
      [account, 'the account of uses'],
    ] as const;
    for (const [directory, what] of directories)
      if (directory !== undefined) locks.push(ownedByDirectory(join(directory, 'lock'), () => new DirectoryLock(directory, what)));
    return { release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Takes a lock as the owner of its directory, who has to open a new lock file later. */
function ownedByDirectory(path: string, take: () => Lock): Lock {
  const isNew = lstatSync(path, { throwIfNoEntry: false }) === undefined;
  const lock = asOwnerOf(dirname(path), take);
  if (isNew) {
    const { user, group } = ownershipOf(statSync(dirname(path)));
    own(path, { user, group, mode: 0o600 });
  }
  return lock;
}
