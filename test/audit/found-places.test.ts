import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AppendFile } from '../../src/audit/append-file.ts';
import { findTail } from '../../src/audit/find-tail.ts';
import { beginning, chainedLine, entryBody, lineHash } from '../../src/audit/line.ts';
import { requestsInChain } from '../../src/audit/outbox.ts';
import type { Place } from '../../src/audit/record.ts';
import { linesAfter, tailOf } from '../../src/audit/tail.ts';
import { requestEntry } from './scratch-log.ts';

let directory: string;
let places: Place[];

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-places-'));
  places = [beginning];
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

const pathOf = (file: number): string => join(directory, `audit-0000000${file}.jsonl`);
const at = (second: number): string => new Date(1_700_000_000_000 + second * 1000).toISOString();
const hashOf = (n: number): string => places[n]?.hash ?? '';

/** Adds records to a file: so many requests, then the end of the file where it has one. */
function write(file: number, requests: number, { closed = false, second = 0 } = {}): void {
  for (let count = 0; count < requests + (closed ? 1 : 0); count += 1) {
    const last = places.at(-1) ?? beginning;
    const entry = count < requests ? requestEntry(last.n + 1) : ({ kind: 'close', next: 'the next' } as const);
    const line = chainedLine(last, at(second), entryBody(entry));
    appendFileSync(pathOf(file), `${line}\n`);
    places.push({ n: last.n + 1, hash: lineHash(line) });
  }
}
const sizeOf = (file: number): number => readFileSync(pathOf(file)).length;
const known = (n: number, file: number): { n: number; hash: string; file: number } => ({ n, hash: hashOf(n), file });

describe('a log', () => {
  it('begins with record 1, after 64 zeros', () => {
    expect(JSON.parse(chainedLine(beginning, at(0), entryBody(requestEntry(1))))).toMatchObject({ n: 1, previous: '0'.repeat(64) });
  });

  it('that does not exist yet begins with its first file', async () => {
    expect(await findTail(directory, undefined)).toEqual({ tail: beginning, file: 1, goodBytes: 0, cutBytes: 0 });
    writeFileSync(pathOf(1), '{"n":1');
    expect(await findTail(directory, undefined)).toEqual({ tail: beginning, file: 1, goodBytes: 0, cutBytes: 6 });
  });

  it('continues after its last complete line', async () => {
    write(1, 3);
    const goodBytes = sizeOf(1);
    expect(await findTail(directory, known(2, 1))).toEqual({ tail: places[3], file: 1, goodBytes, cutBytes: 0 });
    appendFileSync(pathOf(1), '{"n":4,');
    expect(await findTail(directory, undefined)).toEqual({ tail: places[3], file: 1, goodBytes, cutBytes: 7 });
    // The last checkpoint may be the last record.
    expect(await findTail(directory, known(3, 1))).toMatchObject({ tail: places[3], goodBytes });
  });

  it('whose newest file is closed, empty or half a line goes on in the next one', async () => {
    write(1, 2, { closed: true });
    const next = { tail: places[3], file: 2, goodBytes: 0 };
    expect(await findTail(directory, known(1, 1))).toEqual({ ...next, cutBytes: 0 });
    writeFileSync(pathOf(2), '');
    expect(await findTail(directory, known(1, 1))).toEqual({ ...next, cutBytes: 0 });
    writeFileSync(pathOf(2), '{"n"');
    expect(await findTail(directory, known(1, 1))).toEqual({ ...next, cutBytes: 4 });
  });

  it('has its last checkpoint in an older file where the newest has none yet: no gap', async () => {
    write(1, 2, { closed: true });
    write(2, 2);
    expect(await findTail(directory, known(2, 1))).toEqual({ tail: places[5], file: 2, goodBytes: sizeOf(2), cutBytes: 0 });
  });

  it.each([
    ['that is gone', (): void => undefined, 2, 1, 'the log is missing; the state store knows it up to record 2'],
    ['that ends before its last checkpoint', () => write(1, 2), 3, 1, 'the log ended at record 2; the state store knows it up to record 3'],
    ['whose last checkpoint is another record', () => write(1, 3), 2, 1, 'record 2 is not the one known to the state store'],
  ])('%s has a gap, and goes on in a file that nobody has had', async (_name, make, n, file, gap) => {
    make();
    const end = places.at(-1) ?? beginning;
    const other = { n, hash: 'a'.repeat(64), file };
    expect(await findTail(directory, other)).toEqual({
      tail: n >= end.n ? { n, hash: other.hash } : end,
      file: 2,
      goodBytes: 0,
      gap,
      cutBytes: 0,
    });
  });

  it('whose newest files are gone goes on behind the ones that it is known to have had', async () => {
    write(1, 2);
    expect(await findTail(directory, { n: 9, hash: 'a'.repeat(64), file: 4 })).toMatchObject({ tail: { n: 9 }, file: 5 });
  });

  it.each([
    ['no record', () => appendFileSync(pathOf(1), 'null\n')],
    ['no JSON', () => appendFileSync(pathOf(1), '{"n":3\n')],
    ['a record without a kind', () => appendFileSync(pathOf(1), `{"n":3,"previous":"${hashOf(2)}"}\n`)],
    ['a record with a text as number', () => appendFileSync(pathOf(1), `{"n":"3","previous":"${hashOf(2)}","kind":"start"}\n`)],
    ['a record after another one', () => appendFileSync(pathOf(1), `{"n":3,"previous":"${hashOf(1)}","kind":"start"}\n`)],
    ['a record with another number', () => appendFileSync(pathOf(1), `{"n":4,"previous":"${hashOf(2)}","kind":"start"}\n`)],
  ])('with %s breaks its chain there, and goes on in a new file', async (_name, damage) => {
    write(1, 2);
    const good = sizeOf(1);
    damage();
    write(1, 1);
    const found = await findTail(directory, known(1, 1));
    expect(found).toMatchObject({ file: 2, goodBytes: 0, gap: `the newest file breaks the chain at byte ${good}` });
    expect(found.tail.n).toBeGreaterThanOrEqual(3);
  });

  it.each([
    ['is no record', (): string => 'null'],
    ['has another number', (line: string): string => line.replace('"n":2,', '"n":20,')],
    ['has a smaller number', (line: string): string => line.replace('"n":2,', '"n":1,')],
    ['is too long to be read', (line: string): string => line.replace('}', `"more":"${'x'.repeat(1 << 21)}"}`)],
  ])('in which the record known to the state store %s goes on in a new file', async (_name, damaged) => {
    write(1, 4);
    const lines = readFileSync(pathOf(1), 'utf8').split('\n');
    writeFileSync(pathOf(1), lines.with(1, damaged(lines[1] ?? '')).join('\n'));
    expect(await findTail(directory, known(2, 1))).toMatchObject({ file: 2, goodBytes: 0, gap: expect.any(String) as string });
  });
});

describe('the last lines of a log', () => {
  const numbers = (lines: readonly string[] | undefined): number[] => (lines ?? []).map((line) => (JSON.parse(line) as { n: number }).n);

  it('are read from as many files as contain them, without an incomplete line', async () => {
    expect(await tailOf(directory, 3)).toBeUndefined();
    write(1, 3, { closed: true });
    write(2, 1, { closed: true });
    write(3, 1);
    const whole = sizeOf(3);
    appendFileSync(pathOf(3), '{"n":8');
    for (const [count, expected] of [
      [1, [7]],
      [2, [6, 7]],
      [3, [5, 6, 7]],
      [5, [3, 4, 5, 6, 7]],
      [100, [1, 2, 3, 4, 5, 6, 7]],
      [0, []],
    ] as const) {
      const tail = await tailOf(directory, count);
      expect(numbers(tail?.lines)).toEqual(expected);
      expect([tail?.file.number, tail?.offset]).toEqual([3, whole]);
    }
  });

  it('are followed by those that come after, from file to file', async () => {
    write(1, 2);
    const tail = await tailOf(directory, 1);
    if (tail === undefined) throw new Error('there are lines');
    write(1, 1, { closed: true });
    write(2, 2);
    const after: string[] = [];
    for await (const line of linesAfter(directory, tail)) {
      after.push(line);
      if (after.length === 4) break;
    }
    expect(numbers(after)).toEqual([3, 4, 5, 6]);
  });
});

describe('the records of requests in the chain', () => {
  const settled = (n: number, second: number) => ({ entry: requestEntry(n), since: Date.parse(at(second)), ids: [] }) as const;
  const day = 86_400;

  it('are found in all files that can have them, newest first', async () => {
    write(1, 2, { closed: true, second: 0 });
    write(2, 2, { closed: true, second: 10 * day });
    write(3, 2, { second: 20 * day });
    const wanted = [4, 5, 7, 8, 99].map((n) => settled(n, 10 * day));
    expect([...(await requestsInChain(directory, wanted))].toSorted()).toEqual([4, 5, 7, 8].map((n) => requestEntry(n).request).toSorted());
  });

  it('are not searched among records of an earlier time', async () => {
    write(1, 2, { closed: true, second: 0 });
    write(2, 2, { closed: true, second: 10 * day });
    write(3, 2, { second: 20 * day });
    expect([...(await requestsInChain(directory, [settled(1, 10 * day), settled(4, 10 * day)]))]).toEqual([requestEntry(4).request]);
  });
});

describe('a file that is appended to', () => {
  it('is cut to what is good when it is opened, and knows its size', async () => {
    writeFileSync(pathOf(1), 'good\nhalf');
    const file = await AppendFile.open(pathOf(1), 5);
    expect(file.size).toBe(5);
    await file.append(Buffer.from('more\n'));
    expect([file.size, readFileSync(pathOf(1), 'utf8')]).toEqual([10, 'good\nmore\n']);
    await file.close();
  });

  it('is not intact where somebody else wrote to it, cut it, moved it or put another in its place', async () => {
    const file = await AppendFile.open(pathOf(1), 0);
    await file.append(Buffer.from('one\n'));
    expect(await file.isIntact()).toBe(true);
    appendFileSync(pathOf(1), 'two\n');
    expect(await file.isIntact()).toBe(false);
    writeFileSync(pathOf(1), 'one\n');
    expect(await file.isIntact()).toBe(true);
    writeFileSync(pathOf(1), 'one');
    expect(await file.isIntact()).toBe(false);
    rmSync(pathOf(1));
    expect(await file.isIntact()).toBe(false);
    writeFileSync(pathOf(1), 'one\n');
    expect(await file.isIntact()).toBe(false);
    await file.close();
  });
});
