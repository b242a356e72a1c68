import { expect, it } from 'vitest';
import { sqliteFault } from '../../src/state/sqlite/sqlite-fault.ts';

/** As node:sqlite reports an extended result code. */
const failed = (errcode: number): Error => Object.assign(new Error('SQLite'), { errcode });

it.each([
  ['a full disk', 13, { kind: 'full', reopen: false }],
  ['a file system that became read-only', 8, { kind: 'full', reopen: true }],
  ['a file that cannot be opened', 14, { kind: 'full', reopen: true }],
  ['a failed write (SQLITE_IOERR_WRITE)', 0x30a, { kind: 'full', reopen: true }],
  ['a failed sync (SQLITE_IOERR_FSYNC)', 0x40a, { kind: 'full', reopen: true }],
  ['a failed read (SQLITE_IOERR_READ)', 0x10a, { kind: 'unavailable', reopen: true }],
  ['a short read (SQLITE_IOERR_SHORT_READ)', 0x20a, { kind: 'unavailable', reopen: true }],
  ['damaged pages (SQLITE_IOERR_CORRUPTFS)', 0x210a, { kind: 'unavailable', reopen: true }],
  ['another writer', 5, { kind: 'unavailable', reopen: false }],
  ['another writer of the table', 6, { kind: 'unavailable', reopen: false }],
  ['a damaged file', 11, { kind: 'unavailable', reopen: true }],
  ['a file of another kind', 26, { kind: 'unavailable', reopen: true }],
  ['a violated constraint', 19, { kind: 'defect', reopen: false }],
])('%s', (_what, code, expected) => {
  expect(sqliteFault(failed(code))).toEqual(expected);
});

it('an error without a code is a defect', () => {
  expect(sqliteFault(new Error('other'))).toEqual({ kind: 'defect', reopen: false });
  expect(sqliteFault(undefined)).toEqual({ kind: 'defect', reopen: false });
});
