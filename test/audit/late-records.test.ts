import { expect, it } from 'vitest';
import { LateRecords } from '../../src/audit/late-records.ts';
import type { Settled } from '../../src/audit/outbox.ts';
import type { Entry, FilePlace } from '../../src/audit/record.ts';
import { recordingLog } from '../support/silent-log.ts';
import { requestEntry } from './scratch-log.ts';

/** A log on a disk that is full until the test says so, and a state store that has committed what the test says. */
function lateRecords(committed: readonly Settled[]): { late: LateRecords; disk: { full: boolean }; written: Entry[]; done: string[] } {
  const [written, done, disk]: [Entry[], string[], { full: boolean }] = [[], [], { full: false }];
  const writer = {
    writable: true,
    append: async (entry: Entry): Promise<FilePlace> => {
      if (disk.full) throw new Error('the disk is full');
      written.push(entry);
      return Promise.resolve({ n: written.length, hash: '', file: 1 });
    },
  };
  const outbox = { settled: async () => Promise.resolve([...committed]), done: (ids: readonly string[]) => void done.push(...ids) };
  return { late: new LateRecords(outbox, writer, recordingLog()), disk, written, done };
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

it('says what the token did for a request whose commit did not come about, and nothing of one for which it did nothing', async () => {
  const { late, written } = lateRecords([]);
  late.keep({ ...requestEntry(1), uses: [use(1)] }, true);
  late.keep(requestEntry(2), true);
  late.keep(requestEntry(3), false);
  await late.write();
  expect(written).toEqual([{ ...requestEntry(1), uses: [use(1)], replayed: 'nothing; the token was used' }]);
  expect(late.lacks(requestEntry(2).request)).toBe(false);
  await late.write();
  expect(written).toHaveLength(1);
});

it('tries again where the disk is full once more, and forgets none', async () => {
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
