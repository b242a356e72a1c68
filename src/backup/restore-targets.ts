import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { fileIdForm } from '../documents/transfer/transfer-parts.ts';
import { BackupFault } from './encrypted-file.ts';
import type { Directory, Manifest, Part, PartKind } from './manifest.ts';
import { accountFileForm } from '../token/account-files.ts';
import { auditFileForm } from '../audit/file-names.ts';

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

const filesOfKind = {
  audit: auditFileForm,
  account: accountFileForm,
  transfer: fileIdForm,
} as const;

/**
 * Says where the parts of a backup go, and what is there already.
 * @throws {BackupFault} if the backup names a path that no backup has
 */
export function restoreTargets(manifest: Manifest, chosen: ReadonlySet<Choice>, root: string): Targets {
  const kinds = new Set<PartKind>([...chosen, ...(chosen.has('audit') ? (['account'] as const) : [])]);
  const targets = manifest.parts.flatMap((part) =>
    part.path !== null && kinds.has(part.kind) ? [{ part, path: placed(manifest, part, root) }] : [],
  );
  const needed = new Set(targets.map(({ path }) => dirname(path)));
  const directories = manifest.directories
    .map((directory) => ({ ...directory, path: join(root, directory.path) }))
    .filter(({ path }) => needed.has(path));
  const isSame = ({ part, path }: Target): boolean =>
    existsSync(path) && statSync(path).size === part.bytes && createHash('sha256').update(readFileSync(path)).digest('hex') === part.sha256;
  const configuration = targets.filter(({ part }) => part.kind === 'configuration');
  const same = new Set(configuration.filter(isSame).map(({ path }) => path));
  return { root, targets, directories, existing: [...existingFiles(manifest, targets, root)].filter((path) => !same.has(path)), same };
}

/** The path of a part, as its kind allows it. */
function placed({ audit, account, transfer }: Manifest, { name, kind, path }: Part, root: string): string {
  if (path === null || normalize(path) !== path || path.endsWith('/')) throw new BackupFault(`${name}: its path cannot be restored`);
  const expected = { audit: audit?.directory, account: account?.directory, transfer: transfer?.directory };
  if (kind === 'audit' || kind === 'account' || kind === 'transfer') {
    if (dirname(path) !== expected[kind] || !filesOfKind[kind].test(basename(path)))
      throw new BackupFault(`${name}: its path cannot be restored`);
  }
  return join(root, path);
}

function existingFiles({ audit, account, transfer }: Manifest, targets: readonly Target[], root: string): Set<string> {
  const kinds = new Set(targets.map(({ part }) => part.kind));
  const found = new Set<string>();
  for (const { part, path } of targets) {
    if (part.kind === 'configuration' && existsSync(path)) found.add(path);
    if (part.kind === 'state') for (const end of ['', '-wal', '-shm']) if (existsSync(path + end)) found.add(path + end);
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
