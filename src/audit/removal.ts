import { unlink } from 'node:fs/promises';
import { auditFiles, fileName, type AuditFile } from './file-names.ts';
import { lastLineWith } from './line-offset.ts';
import { lineHash, parseLine } from './line.ts';
import { readLines } from './read-lines.ts';
import type { RemovalEntry } from './record.ts';
import { syncDirectory } from '../service/sync-directory.ts';

export interface Removable {
  /** The oldest files, in order. */
  readonly files: readonly AuditFile[];
  /** The record that makes their absence explicable. */
  readonly entry: RemovalEntry;
  /** Time of their last record. */
  readonly lastTime: string;
}

/** Bounds of a removal. */
export interface RemovalBounds {
  /** Every record of a removed file is older (milliseconds since the epoch). */
  readonly before: number;
  /** Number of the file that is being written. */
  readonly current: number;
  /** Number of the last record that the state store holds as its place in the log. */
  readonly kept: number;
}

/**
 * Finds the oldest files of a log that may be removed: closed ones, with only records that are older
 * and known to the state store. Undefined if there are none.
 */
export async function removableFiles(directory: string, { before, current, kept }: RemovalBounds): Promise<Removable | undefined> {
  const files: AuditFile[] = [];
  let found: Removable | undefined;
  for (const file of await auditFiles(directory)) {
    const last = file.number < current ? await closingOf(file) : undefined;
    if (last === undefined || last.n >= kept || Date.parse(last.time) >= before) break;
    files.push(file);
    found = {
      files: [...files],
      entry: { kind: 'removal', next: fileName(file.number + 1), records: last.n, hash: last.hash },
      lastTime: last.time,
    };
  }
  return found;
}

/** Returns the closing record of a file; undefined if its last line is another. */
async function closingOf({ path }: AuditFile): Promise<{ readonly n: number; readonly hash: string; readonly time: string } | undefined> {
  let closing: { readonly n: number; readonly hash: string; readonly time: string } | undefined;
  for await (const { bytes, isWhole } of readLines(path, await lastLineWith(path, () => true))) {
    const record = isWhole ? parseLine(bytes) : '';
    closing = typeof record !== 'string' && record.kind === 'close' ? { n: record.n, hash: lineHash(bytes), time: record.time } : undefined;
  }
  return closing;
}

/** Removes files, the oldest first, so that those that a crash leaves have no gap between them. */
export async function removeFiles(directory: string, files: readonly AuditFile[]): Promise<void> {
  for (const { path } of files) await unlink(path);
  await syncDirectory(directory);
}
