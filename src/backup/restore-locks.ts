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

/**
 * Takes the locks that the service and the token host hold while they run, so that neither runs nor
 * starts during a restore. The directories must exist.
 * @throws {Error} if one of them runs
 */
export function lockForRestore({ audit, account }: Manifest, { root, targets }: Targets): Lock {
  const locks: Lock[] = [];
  const release = (): void => {
    for (const lock of locks) lock.release();
  };
  try {
    const kinds = new Set(targets.map(({ part }) => part.kind));
    const state = targets.find(({ part }) => part.kind === 'state');
    if (state !== undefined) locks.push(ownedByDirectory(`${state.path}-lock`, () => claimAlone(state.path)));
    const directories = [
      [kinds.has('audit') ? audit?.directory : undefined, 'the audit log'],
      [kinds.has('account') ? account?.directory : undefined, 'the account of uses'],
    ] as const;
    for (const [directory, what] of directories) {
      if (directory === undefined) continue;
      const path = join(root, directory);
      locks.push(ownedByDirectory(join(path, 'lock'), () => new DirectoryLock(path, what)));
    }
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
