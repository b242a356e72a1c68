import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Config } from '../config/config.ts';
import { BackupFault } from './encrypted-file.ts';
import type { Directory, Manifest, Part, PartKind } from './manifest.ts';
import { filesOfKind, wrongParts } from './part-paths.ts';
import { outOfBounds, type RestorePlaces } from './restore-places.ts';

/** A part and where it goes. */
export interface Target {
  readonly part: Part;
  readonly path: string;
}

export interface Targets {
  /** Directory in front of all paths; `/` for this machine itself. */
  readonly root: string;
  readonly targets: readonly Target[];
  /** Directories of the targets. */
  readonly directories: readonly Directory[];
  /** Files that are in the way. */
  readonly existing: readonly string[];
  /** Configuration files that are there already, the same. */
  readonly same: ReadonlySet<string>;
}

/** Parts that an operator can choose; the account of uses goes with the audit log. */
export const choices = ['configuration', 'state', 'audit', 'transfer'] as const;
export type Choice = (typeof choices)[number];

export interface RestoreOptions {
  readonly chosen: ReadonlySet<Choice>;
  /** Directory in front of all paths. */
  readonly root: string;
  /** Bounds of a backup that anybody may have made; undefined for one whose digest is known. */
  readonly places: RestorePlaces | undefined;
}

/**
 * Says where the parts of a backup go, and what is there already. All parts are checked, also those
 * that are not chosen, before anything is written.
 * @param config the configuration in the backup
 * @throws {BackupFault} if the backup names a path that no backup has, or that is out of bounds
 */
export function restoreTargets(manifest: Manifest, config: Config, { chosen, root, places }: RestoreOptions): Targets {
  const refused = [...wrongParts(manifest, config), ...(places === undefined ? [] : outOfBounds(manifest, places, root))];
  if (refused.length > 0) throw new BackupFault(['nothing was restored', ...refused].join('\n'));
  const kinds = new Set<PartKind>([...chosen, ...(chosen.has('audit') ? (['account'] as const) : [])]);
  const here = (one: Part): Part => (places === undefined ? one : { ...one, ...places.ownership(one.kind, join(root, one.path ?? '/')) });
  const targets = manifest.parts.flatMap((part) =>
    part.path !== null && kinds.has(part.kind) ? [{ part: here(part), path: join(root, part.path) }] : [],
  );
  const kindOf = new Map(targets.map(({ part, path }) => [dirname(path), part.kind]));
  const directories = manifest.directories.flatMap((directory) => {
    const path = join(root, directory.path);
    const kind = kindOf.get(path);
    if (kind === undefined) return [];
    return [{ ...directory, ...places?.directoryOwnership(kind), path }];
  });
  const made = new Set(directories.map(({ path }) => path));
  const nowhere = targets.filter(({ path }) => !made.has(dirname(path)) && !isDirectory(dirname(path)));
  if (nowhere.length > 0)
    throw new BackupFault(
      ['nothing was restored', ...nowhere.map(({ part }) => `${part.path}: its directory is neither in the backup nor here`)].join('\n'),
    );
  const isSame = ({ part, path }: Target): boolean =>
    isFile(path) && statSync(path).size === part.bytes && createHash('sha256').update(readFileSync(path)).digest('hex') === part.sha256;
  const configuration = targets.filter(({ part }) => part.kind === 'configuration');
  const same = new Set(configuration.filter(isSame).map(({ path }) => path));
  return { root, targets, directories, existing: [...existingFiles(manifest, targets, root)].filter((path) => !same.has(path)), same };
}

/** Also one that a symbolic link leads to. */
function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isFile(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

/** Whether something has this name, also a symbolic link that leads nowhere. */
function isTaken(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function existingFiles({ audit, account, transfer }: Manifest, targets: readonly Target[], root: string): Set<string> {
  const kinds = new Set(targets.map(({ part }) => part.kind));
  const found = new Set<string>();
  for (const { part, path } of targets) {
    if (part.kind === 'configuration' && isTaken(path)) found.add(path);
    if (part.kind === 'state') for (const end of ['', '-wal', '-shm']) if (isTaken(path + end)) found.add(path + end);
  }
  const directories = { audit: audit?.directory, account: account?.directory, transfer: transfer?.directory };
  for (const kind of ['audit', 'account', 'transfer'] as const) {
    const directory = directories[kind];
    if (directory === undefined || !kinds.has(kind)) continue;
    for (const name of namesIn(join(root, directory))) if (filesOfKind[kind].test(name)) found.add(join(root, directory, name));
  }
  return found;
}

function namesIn(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => name);
}
