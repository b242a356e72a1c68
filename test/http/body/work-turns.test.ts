import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { WorkTurns } from '../../../src/http/body/work-turns.ts';

const kibibyte = 1024;

/** Asks for a turn for each `[tenant, client, octets]`, and notes when it comes. */
function asked(turns: WorkTurns, requests: readonly (readonly [string, string, number])[]): string[] {
  const begun: string[] = [];
  for (const [tenant, client, bytes] of requests) {
    const turn = turns.turn({ tenant, client }, bytes);
    if (turn === undefined) begun.push(`${tenant}${client} at once`);
    else void turn.then(() => begun.push(`${tenant}${client}`));
  }
  return begun;
}

/** What has begun after each of the next turns of the event loop. */
async function turnsOf(begun: readonly string[], turns: number): Promise<string[][]> {
  const after = [[...begun]];
  for (let turn = 0; turn < turns; turn += 1) {
    await nextTurn();
    after.push(begun.slice(after.flat().length));
  }
  return after;
}

describe('work on bodies that have arrived', () => {
  it('begins at once, and waits only beside as much as takes milliseconds', async () => {
    const turns = new WorkTurns();
    expect(turns.turn(undefined, 256 * kibibyte)).toBeUndefined();
    await nextTurn();
    const small = Array.from({ length: 20 }, () => turns.turn(undefined, 0));
    // Each costs 4 KiB beside its body.
    expect(small.filter((turn) => turn === undefined)).toHaveLength(16);
    await Promise.all(small.filter((turn) => turn !== undefined));
    await nextTurn();
    expect(turns.turn(undefined, 60 * kibibyte)).toBeUndefined();
    expect(turns.turn(undefined, 0)).toBeInstanceOf(Promise);
  });

  it('begins one large body at a time, of tenants by turns, whoever came first', async () => {
    const begun = asked(new WorkTurns(), [
      ...['1', '1', '1', '2'].map((client) => ['a', client, 90 * kibibyte] as const),
      ['b', '3', 1000],
      ['b', '3', 90 * kibibyte],
    ]);
    expect(await turnsOf(begun, 5)).toEqual([['a1 at once'], ['a1'], ['b3', 'b3'], ['a2'], ['a1'], []]);
  });

  it('waits while others wait, even if it would fit', async () => {
    const turns = new WorkTurns();
    const begun = asked(turns, [
      ['a', '1', 20 * kibibyte],
      ['a', '1', 90 * kibibyte],
      ['a', '1', 0],
    ]);
    expect(await turnsOf(begun, 3)).toEqual([['a1 at once'], ['a1'], ['a1'], []]);
  });

  it('of many small requests begins as many as fit into each turn', async () => {
    const begun = asked(
      new WorkTurns(),
      Array.from({ length: 40 }, () => ['a', '1', 0] as const),
    );
    expect((await turnsOf(begun, 3)).map(({ length }) => length)).toEqual([16, 16, 8, 0]);
  });
});
