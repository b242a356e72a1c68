import * as fc from 'fast-check';
import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { isWanted, outcomeFilter, type RecordFilter } from '../../src/audit/record-filter.ts';
import { searchBack } from '../../src/audit/search-back.ts';
import { requestEntry, ScratchLog } from './scratch-log.ts';

const bounds = { most: 100_000, maxBytes: 1 << 30, maxMs: 60_000 };
const hour = (count: number): number => Date.parse('2026-03-01T00:00:00Z') + count * 3_600_000;

let log: ScratchLog;
let lines: string[];
beforeAll(async () => {
  log = new ScratchLog();
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    vi.setSystemTime(hour(0));
    const audit = await log.open({ rotateBytes: 4096 });
    for (let count = 0; count < 60; count += 1) {
      vi.setSystemTime(hour(count));
      await audit.record({ ...requestEntry(count), client: `client-${count % 3}`, requestID: `order ${count}` });
    }
    await audit.stop();
  } finally {
    vi.useRealTimers();
  }
  lines = [...log.files().values()].flat();
});
afterAll(() => {
  log.remove();
});

const numbersOf = (found: Awaited<ReturnType<typeof searchBack>>): unknown[] =>
  found.records.map((record): unknown => Reflect.get(record, 'n'));

const filters: fc.Arbitrary<RecordFilter> = fc.record(
  {
    client: fc.constantFrom('client-0', 'client-1', 'nobody'),
    key: fc.constantFrom('a'.repeat(40), 'b'.repeat(40)),
    request: fc.constantFrom('order 7', '0000000010', 'order'),
    outcome: fc.constantFrom('success', 'refused', '2/202', '2/201', '503').map(outcomeFilter),
    since: fc.integer({ min: -2, max: 62 }).map(hour),
    until: fc.integer({ min: -2, max: 62 }).map(hour),
  },
  { requiredKeys: [] },
);

describe('a search from the end of the log', () => {
  it('finds what a reader of all lines finds, also in steps', async () => {
    expect(log.files().size).toBeGreaterThan(5);
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: 1, max: 20 }), async (filter, most) => {
        const wanted = lines
          .map((line) => [Buffer.from(line), JSON.parse(line) as Record<string, unknown>] as const)
          .filter(([line, record]) => isWanted(line, record, filter))
          .map(([, { n }]) => n)
          .toReversed();
        expect(numbersOf(await searchBack(log.directory, { ...filter, ...bounds }))).toEqual(wanted);
        const inSteps: unknown[] = [];
        for (let before: number | undefined, isFirst = true; isFirst || before !== undefined; isFirst = false) {
          const found = await searchBack(log.directory, { ...filter, ...bounds, most, before });
          expect(found.records.length).toBeLessThanOrEqual(most);
          inSteps.push(...numbersOf(found));
          before = found.continueBefore;
        }
        expect(inSteps).toEqual(wanted);
      }),
      { numRuns: 100 },
    );
  });

  it('ends at its bounds, and says where it ended', async () => {
    for (const bound of [{ maxBytes: 1 }, { maxMs: -1 }]) {
      let before: number | undefined;
      let steps = 0;
      const found: unknown[] = [];
      do {
        const step = await searchBack(log.directory, { request: 'order 3', ...bounds, ...bound, before });
        found.push(...numbersOf(step));
        before = step.continueBefore;
        steps += 1;
      } while (before !== undefined);
      expect(steps).toBeGreaterThan(5);
      expect(found).toHaveLength(1);
    }
  });

  it('passes over a half-written line, and names one that is no record', async () => {
    const [name = ''] = [...log.files().keys()].slice(-1);
    appendFileSync(join(log.directory, name), 'no record\n{"n":9999,"time":"2026');
    const { records } = await searchBack(log.directory, { ...bounds, most: 2 });
    expect(records[0]).toEqual({ damaged: 'no record' });
    expect(records[1]).toMatchObject({ n: lines.length });
  });

  it('holds its bounds in a file without records too, and goes on with the file before it', async () => {
    const path = join(log.directory, 'audit-00000999.jsonl');
    for (const content of ['no record\n'.repeat(100_000), 'x'.repeat(3 * 1024 * 1024)]) {
      writeFileSync(path, content);
      const damaged = (found: Awaited<ReturnType<typeof searchBack>>): number =>
        found.records.filter((record) => 'damaged' in record && record.damaged !== 'no record').length;
      const first = await searchBack(log.directory, { ...bounds, most: 50, maxBytes: 1 << 20 });
      expect([damaged(first), first.records.length <= 51]).toEqual([1, true]);
      const found: unknown[] = numbersOf(first).filter((n) => n !== undefined);
      for (let before = first.continueBefore; before !== undefined;) {
        const next = await searchBack(log.directory, { ...bounds, most: 50, before });
        expect(next.records.length).toBeLessThanOrEqual(51);
        found.push(...numbersOf(next).filter((n) => n !== undefined));
        before = next.continueBefore;
      }
      expect(found).toEqual(Array.from({ length: lines.length }, (_, index) => lines.length - index));
    }
    rmSync(path);
  });
});
