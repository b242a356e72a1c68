import { existsSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { removeAbandoned, unfinishedName } from '../service/abandoned-files.ts';
import type { BackupFile } from './encrypted-file.ts';
import { own, type MissingOwners } from './owners.ts';
import { readBackup } from './read-backup.ts';
import type { Target, Targets } from './restore-targets.ts';
import { writeNew } from './work-directory.ts';
import type { PartKind } from './manifest.ts';
import { syncDirectory } from '../service/sync-directory.ts';

const suffix = 'restoring';
/**
 * The state is last: if this ends half-way, the state is the old one or none, and the service
 * refuses to work with a state that is older than the audit log.
 */
const order: readonly PartKind[] = ['configuration', 'account', 'audit', 'transfer', 'state'];

export interface RestoredFiles {
  readonly restored: readonly string[];
  /** Files that were in the way, by their new names. */
  readonly kept: readonly string[];
}

/**
 * Writes the parts beside their places, and then gives all of them their names. What was there is
 * kept under another name.
 * @throws {BackupFault} if the file is not whole; then nothing was changed
 */
export async function restoreFiles(
  backup: BackupFile,
  { targets, existing, same }: Targets,
  { progress, owners }: { readonly progress: (bytes: number) => void; readonly owners: MissingOwners },
): Promise<RestoredFiles> {
  const wanted = targets.filter((target) => !same.has(target.path));
  const byName = new Map(wanted.map((target) => [target.part.name, target]));
  const written: Target[] = [];
  try {
    removeAbandoned(
      wanted.map((target) => target.path),
      suffix,
    );
    await readBackup(
      backup,
      async (name, content) => {
        const target = byName.get(name);
        if (target === undefined) return;
        const unfinished = unfinishedName(target.path, suffix);
        written.push(target);
        await writeNew(unfinished, content);
        owners.add(target.path, own(unfinished, { ...target.part, mode: target.part.mode & 0o666 }));
      },
      progress,
    );
    const kept = setAside(existing);
    for (const kind of order)
      for (const target of written) if (target.part.kind === kind) renameSync(unfinishedName(target.path, suffix), target.path);
    for (const directory of new Set(written.map((target) => dirname(target.path)))) await syncDirectory(directory);
    return { restored: written.map((target) => target.path), kept };
  } catch (error) {
    for (const target of written) rmSync(unfinishedName(target.path, suffix), { force: true });
    throw error;
  }
}

/** Renames the files that are in the way; those of one database keep names that belong together. */
function setAside(existing: readonly string[]): string[] {
  const ending = `before-restore-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, '')}`;
  const renamed = existing.map((path) => {
    const [, base = path, end = ''] = /^(.*?)(-wal|-shm)?$/s.exec(path) ?? [];
    return { path, kept: `${base}.${ending}${end}` };
  });
  for (const { kept } of renamed) if (existsSync(kept)) throw new Error(`${kept}: the file exists`);
  for (const { path, kept } of renamed) renameSync(path, kept);
  return renamed.map(({ kept }) => kept);
}
