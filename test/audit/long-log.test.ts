import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compareState } from '../../src/audit/compare-state.ts';
import { findTail } from '../../src/audit/find-tail.ts';
import { lastLineWith } from '../../src/audit/line-offset.ts';
import { beginning, chainedLine, entryBody, lineHash } from '../../src/audit/line.ts';
import { requestsInChain } from '../../src/audit/outbox.ts';
import type { FilePlace, Place } from '../../src/audit/record.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { StoreHere } from '../support/store-here.ts';
import { requestEntry } from './scratch-log.ts';

const records = 40_000;
/** Records after the place that the state store holds. */
const since = 1000;
const day = 86_400_000;

let directory: string;
let path: string;
let store: StateStore;
let known: FilePlace;
let last: Place = beginning;

/** Time of a record: the last ones are of the last day. */
const begin = Date.now() - day - 60_000;
const timeOf = (n: number): number => begin + (n > records - since ? day : 0) + n;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-long-log-'));
  path = join(directory, 'audit-00000001.jsonl');
  const lines: string[] = [];
  for (let n = 1; n <= records; n += 1) {
    const line = chainedLine(last, new Date(timeOf(n)).toISOString(), entryBody(requestEntry(n)));
    last = { n, hash: lineHash(line) };
    lines.push(`${line}\n`);
    if (n === records - since) known = { ...last, file: 1 };
  }
  writeFileSync(path, lines.join(''));
  store = await StoreHere.open(join(directory, 'state.sqlite'));
  await store.run('keepAuditHead', { log: 'signetd', records: known.n, hash: known.hash, file: 1 });
});

afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

/** Bytes that this process has read from files so far. */
function bytesRead(): number {
  return Number(/^rchar: (\d+)$/m.exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
}

describe('of a long log whose beginning the state store knows, a start reads the end:', () => {
  it.each([
    [
      'to find where it continues',
      async () => {
        expect(await findTail(directory, known)).toEqual({ tail: last, file: 1, goodBytes: statSync(path).size, cutBytes: 0 });
      },
    ],
    [
      'to compare the state store with it',
      async () => {
        expect(await compareState(store, { directory, name: 'signetd' })).toMatchObject({ isOlder: false, known: known.n, last: last.n });
      },
    ],
    [
      'to find the requests that it records',
      async () => {
        const settled = [records - 1, 1].map((n) => ({ entry: requestEntry(n), since: timeOf(records), ids: [] }));
        expect([...(await requestsInChain(directory, settled))]).toEqual([requestEntry(records - 1).request]);
      },
    ],
  ])('%s', async (_name, work) => {
    const { size } = statSync(path);
    const before = bytesRead();
    await work();
    const read = bytesRead() - before;
    // The end is read twice, backwards and forwards, in pieces.
    expect(read).toBeGreaterThan((size * since) / records);
    expect(read).toBeLessThan(size / 8);
  });
});

it('any record of a log is found from its end, and a line that is not complete is not', async () => {
  const text = readFileSync(path, 'latin1');
  const offsetOf = (n: number): number => text.indexOf(`{"n":${n},`);
  for (const n of [1, 2, 17, 190, 191, 4000, records - 1, records])
    expect(await lastLineWith(path, (head) => head.n <= n)).toBe(offsetOf(n));
  expect(await lastLineWith(path, (head) => head.n <= 0)).toBe(0);
  const cut = join(directory, 'cut');
  writeFileSync(cut, text.slice(0, offsetOf(1000) + 200), 'latin1');
  expect(await lastLineWith(cut, (head) => head.n <= 1000)).toBe(offsetOf(999));
});

it('a line that somebody has added again hides none of those before it', async () => {
  const text = readFileSync(path, 'latin1');
  const copied = join(directory, 'copied');
  const [line = ''] = text.slice(text.indexOf(`{"n":${known.n},`)).split('\n', 1);
  writeFileSync(copied, `${text}${line}\n`, 'latin1');
  expect(await lastLineWith(copied, (head) => head.n <= known.n)).toBe(0);
});

it('a request that was settled while the clock was ahead is found', async () => {
  const number = records - 1;
  const settled = [{ entry: requestEntry(number), since: Date.now() + 24 * 3_600_000, ids: [] }];
  expect([...(await requestsInChain(directory, settled))]).toEqual([requestEntry(number).request]);
});
