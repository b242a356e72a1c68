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
  const extended = error instanceof Error && 'errcode' in error && typeof error.errcode === 'number' ? error.errcode : 0;
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
