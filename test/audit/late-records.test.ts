import { expect, it } from 'vitest';
import { LateRecords } from '../../src/audit/late-records.ts';
import type { Settled } from '../../src/audit/outbox.ts';
import type { Entry, FilePlace } from '../../src/audit/record.ts';
import { recordingLog } from '../support/silent-log.ts';
import { requestEntry } from './scratch-log.ts';

/** A log on a disk that is full until the test says so, and a state store that has committed what the test says; undefined: it does not answer. */
function lateRecords(committed: readonly Settled[] | undefined): {
  readonly late: LateRecords;
  readonly disk: { full: boolean };
  readonly written: Entry[];
  readonly done: string[];
  readonly lines: () => readonly string[];
} {
  const [written, done, disk]: [Entry[], string[], { full: boolean }] = [[], [], { full: false }];
  const writer = {
    writable: true,
    append: async (entry: Entry): Promise<FilePlace> => {
      if (disk.full) throw new Error('the disk is full');
      written.push(entry);
      return Promise.resolve({ n: written.length, hash: '', file: 1 });
    },
  };
  const outbox = {
    async settled(): Promise<Settled[]> {
      if (committed === undefined) throw new Error('the state store does not answer');
      return Promise.resolve([...committed]);
    },
    done: (ids: readonly string[]) => void done.push(...ids),
  };
  const log = recordingLog();
  return { late: new LateRecords(outbox, writer, log), disk, written, done, lines: () => log.lines };
}

const use = (n: number): string => `sign 43 ECDSA sha256:${n}`;
const settledOf = (n: number): Settled => ({
  entry: { ...requestEntry(n), uses: [use(1)], replayed: 'a key was made' },
  ids: [`log:${n}`],
  since: 0,
});

it('says of a commit all that the token did for it, also after the commit', async () => {
  const { late, written, done } = lateRecords([settledOf(1), settledOf(2)]);
  late.keep({ ...requestEntry(1), uses: [use(1), use(2)] }, true);
  expect([late.lacks(requestEntry(1).request), late.lacks(requestEntry(2).request)]).toEqual([true, false]);
  await late.write();
  expect(written).toEqual([
    expect.objectContaining({ request: requestEntry(1).request, uses: [use(1), use(2)], replayed: 'a key was made' }),
  ]);
  expect(done).toEqual(['log:1']);
  expect(late.lacks(requestEntry(1).request)).toBe(false);
});

it('says what the token did for a request whose commit is not seen, and the commit where it is seen after all', async () => {
  const committed: Settled[] = [];
  const { late, written, done } = lateRecords(committed);
  late.keep({ ...requestEntry(1), uses: [use(1)] }, true);
  late.keep(requestEntry(2), true);
  late.keep(requestEntry(3), false);
  await late.write();
  await late.write();
  expect(written).toEqual([{ ...requestEntry(1), uses: [use(1)], replayed: 'no commit; the token was used' }]);
  // It may be in doubt: nothing is published for it.
  expect([1, 2, 3].map((n) => late.lacks(requestEntry(n).request))).toEqual([true, true, false]);
  committed.push(settledOf(1));
  await late.write();
  expect(written.slice(1)).toEqual([
    expect.objectContaining({ request: requestEntry(1).request, replayed: 'a key was made', uses: undefined }),
  ]);
  expect(done).toEqual(['log:1']);
});

it('writes what is left before the end, also while it is writing, and says what it could not write', async () => {
  const { late, disk, written, lines } = lateRecords([]);
  for (const n of [1, 2, 3]) late.keep({ ...requestEntry(n), uses: [use(n)] }, false);
  void late.write();
  await late.stop();
  expect(written).toHaveLength(3);
  late.keep({ ...requestEntry(4), uses: [use(4)] }, false);
  disk.full = true;
  await late.stop();
  expect(lines().filter((line) => line.startsWith('an audit record is lost'))).toHaveLength(1);
});

it('says of a record that comes after the end that it is lost', async () => {
  const { late, written, lines } = lateRecords([]);
  await late.stop();
  late.keep({ ...requestEntry(1), uses: [use(1)] }, false);
  late.keep(requestEntry(2), false);
  await late.write();
  expect([written.length, lines().filter((line) => line.startsWith('an audit record is lost')).length]).toEqual([0, 1]);
});

it('writes the records that are only in memory while the state store does not answer', async () => {
  const { late, written } = lateRecords(undefined);
  late.keep({ ...requestEntry(1), uses: [use(1)] }, true);
  late.keep({ ...requestEntry(2), uses: [use(2)] }, false);
  await late.write();
  expect(written).toEqual([expect.objectContaining({ request: requestEntry(2).request })]);
});

it('tries again if the disk is full once more, and loses no record', async () => {
  const { late, disk, written } = lateRecords([settledOf(1)]);
  late.keep({ ...requestEntry(1), uses: [use(1)] }, true);
  late.keep({ ...requestEntry(2), uses: [use(2)] }, false);
  disk.full = true;
  await late.write();
  expect([written.length, late.lacks(requestEntry(1).request)]).toEqual([0, true]);
  disk.full = false;
  await late.write();
  expect(written).toHaveLength(2);
});
