import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import type { FaultKind } from '../database.ts';

/** Primary result codes (https://www.sqlite.org/rescode.html). */
const busy = 5;
const locked = 6;
const readOnly = 8;
const inputOutput = 10;
const corrupt = 11;
const full = 13;
const cannotOpen = 14;
const notADatabase = 26;

/** Extended codes of SQLITE_IOERR for read failures. */
const readFailures = new Set([0x10a, 0x20a, 0x1f0a, 0x210a]);

/** Returns the kind of an SQLite error. `reopen`: the connection may be unusable. */
export function sqliteFault(error: unknown): { readonly kind: FaultKind; readonly reopen: boolean } {
  const extended = extendedCode(error);
  switch (extended & 0xff) {
    case full:
      return { kind: 'full', reopen: false };
    case readOnly:
    case cannotOpen:
      return { kind: 'full', reopen: true };
    case inputOutput:
      return { kind: readFailures.has(extended) ? 'unavailable' : 'full', reopen: true };
    case busy:
    case locked:
      return { kind: 'unavailable', reopen: false };
    case corrupt:
    case notADatabase:
      return { kind: 'unavailable', reopen: true };
    default:
      return { kind: 'defect', reopen: false };
  }
}

function extendedCode(error: unknown): number {
  return error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : 0;
}

/** With less, SQLite cannot make the files that it needs beside a database. */
const leastBytes = 256 * 1024;

/**
 * Returns the error of an attempt to open a database; where a full disk explains it, with that cause,
 * of which SQLite says only "disk I/O error" or "unable to open database file".
 */
export function openingError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || ![inputOutput, full, cannotOpen].includes(extendedCode(error) & 0xff)) return error;
  const cause = fullDisk(dirname(path));
  return cause === undefined ? error : new Error(`${error.message}: ${cause}`, { cause: error });
}

function fullDisk(directory: string): string | undefined {
  try {
    const { bavail, bsize, files, ffree } = statfsSync(directory);
    if (bavail * bsize < leastBytes)
      return `the disk of ${directory} is full, with ${Math.floor((bavail * bsize) / 1024)} KiB left: free space on it`;
    // File systems without a limit of their number say 0 of 0.
    return files > 0 && ffree === 0 ? `the disk of ${directory} is full, with no inode left: remove files from it` : undefined;
  } catch {
    return undefined;
  }
}
