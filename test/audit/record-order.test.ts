import { array, assert, asyncProperty, integer } from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Line } from '../../src/audit/line.ts';
import { RecordOrder } from '../../src/audit/record-order.ts';

const record = (timeMs: number, n: number): Line => ({
  n,
  kind: 'request',
  time: new Date(timeMs).toISOString(),
  previous: '0'.repeat(64),
});

/** Reads the logs at once, each with pauses of its own, and returns the order in which the records were taken. */
async function taken(logs: readonly (readonly number[])[], pauses: () => number): Promise<string[]> {
  const order: string[] = [];
  let busy = false;
  const records = new RecordOrder(logs.length, async ({ time, n }) => {
    expect(busy, 'one record at a time').toBe(false);
    busy = true;
    for (let turns = pauses(); turns > 0; turns -= 1) await Promise.resolve();
    busy = false;
    order.push(`${time} ${n}`);
  });
  await Promise.all(
    logs.map(async (times, log) => {
      for (const [index, time] of times.entries()) {
        for (let turns = pauses(); turns > 0; turns -= 1) await Promise.resolve();
        await records.offer(log, record(time, log * 1000 + index));
      }
      records.ended(log);
    }),
  );
  return order;
}

describe('the order of the records of several logs', () => {
  it('is that of their times, whichever reader is faster, and each log keeps its own', async () => {
    const logs = array(
      array(integer({ min: 0, max: 50 }), { maxLength: 12 }).map((times) => times.toSorted((a, b) => a - b)),
      {
        minLength: 1,
        maxLength: 4,
      },
    );
    await assert(
      asyncProperty(logs, array(integer({ min: 0, max: 6 }), { minLength: 1 }), async (times, turns) => {
        let at = 0;
        const order = await taken(times, () => turns[at++ % turns.length] ?? 0);
        const expected = times.flatMap((one, log) => one.map((time, index) => ({ time, log, index })));
        // Of two at the same time, the log that is named first is taken first.
        expected.sort((left, right) => left.time - right.time || left.log - right.log || left.index - right.index);
        expect(order).toEqual(expected.map(({ time, log, index }) => `${new Date(time).toISOString()} ${log * 1000 + index}`));
      }),
    );
  });

  it('fails for the log whose record cannot be taken', async () => {
    const records = new RecordOrder(1, async () => Promise.reject(new Error('the account cannot be read')));
    await expect(records.offer(0, record(0, 1))).rejects.toThrow('the account cannot be read');
  });
});
