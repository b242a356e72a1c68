import { describe, expect, it } from 'vitest';
import { KeptData, keptMaxMs, type Fetched, type Wish } from '../../src/revocation/kept-data.ts';

const now = 1_900_000_000_000;
const later = (ms: number): Date => new Date(now + ms);

/** Counts what was asked for. */
class Asked {
  readonly keys: string[] = [];

  wish(
    key: string,
    { bytes = 1, lastsMs = 1000, suits = true, fault }: { bytes?: number; lastsMs?: number; suits?: boolean; fault?: string } = {},
  ): Wish<string> {
    return {
      suits: () => suits,
      ask: async () => {
        this.keys.push(key);
        if (fault !== undefined) throw new Error(fault);
        return Promise.resolve({ value: `${key} ${this.keys.length}`, bytes, until: now + lastsMs });
      },
    };
  }
}

describe('what is kept', () => {
  it('is answered until its end, and asked for anew from then on', async () => {
    const kept = new KeptData<string>(100);
    const asked = new Asked();
    expect(await kept.get('a', later(0), asked.wish('a'))).toBe('a 1');
    expect(await kept.get('a', later(999), asked.wish('a'))).toBe('a 1');
    expect(await kept.get('a', later(1000), asked.wish('a', { lastsMs: 2000 }))).toBe('a 2');
    expect(await kept.get('b', later(1000), asked.wish('b'))).toBe('b 3');
    expect(asked.keys).toEqual(['a', 'a', 'b']);
  });

  it('is kept for a day at most, whatever it says of itself', async () => {
    const kept = new KeptData<string>(100);
    const asked = new Asked();
    const wish = asked.wish('a', { lastsMs: 10 * keptMaxMs });
    await kept.get('a', later(0), wish);
    expect(await kept.get('a', later(keptMaxMs - 1), wish)).toBe('a 1');
    expect(await kept.get('a', later(keptMaxMs), wish)).toBe('a 2');
  });

  it('and does not suit is asked for anew, once a minute at most', async () => {
    const kept = new KeptData<string>(100);
    const asked = new Asked();
    const wish = asked.wish('a', { lastsMs: 1_000_000, suits: false });
    await kept.get('a', later(0), wish);
    expect(await kept.get('a', later(59_999), wish)).toBe('a 1');
    expect(await kept.get('a', later(60_000), wish)).toBe('a 2');
    expect(await kept.get('a', later(60_001), wish)).toBe('a 2');
  });

  it('and does not suit is answered where nothing newer is to be had, and that is not tried again for a minute', async () => {
    const kept = new KeptData<string>(100);
    const asked = new Asked();
    await kept.get('a', later(0), asked.wish('a', { lastsMs: 100_000 }));
    const failing = asked.wish('a', { suits: false, fault: 'no server' });
    expect(await kept.get('a', later(60_000), failing)).toBe('a 1');
    expect(await kept.get('a', later(99_999), failing)).toBe('a 1');
    expect(asked.keys).toHaveLength(2);
    await expect(kept.get('a', later(120_000), failing)).rejects.toThrow('no server');
    await expect(kept.get('b', later(0), asked.wish('b', { fault: 'no server' }))).rejects.toThrow('no server');
  });

  it('and has ended is no answer, however the next try fails', async () => {
    const kept = new KeptData<string>(100);
    const asked = new Asked();
    await kept.get('a', later(0), asked.wish('a'));
    await expect(kept.get('a', later(1000), asked.wish('a', { fault: 'no server' }))).rejects.toThrow('no server');
    expect(await kept.get('a', later(1000), asked.wish('a', { lastsMs: 5000 }))).toBe('a 3');
  });
});

describe('the room for it', () => {
  it('is as large as it says: the oldest goes first, and what is asked for anew counts once', async () => {
    const kept = new KeptData<string>(10);
    const asked = new Asked();
    const get = async (key: string, bytes: number, at = 0): Promise<string> =>
      kept.get(key, later(at), asked.wish(key, { bytes, lastsMs: at + 1000 }));
    await get('a', 5);
    await get('b', 5);
    await get('a', 5, 1000);
    await get('b', 5, 1000);
    // Both fit, still.
    await get('a', 5, 1500);
    await get('b', 5, 1500);
    expect(asked.keys).toEqual(['a', 'b', 'a', 'b']);
    await get('c', 1, 1500);
    await get('b', 5, 1500);
    await get('c', 1, 1500);
    expect(asked.keys).toEqual(['a', 'b', 'a', 'b', 'c']);
    await get('a', 5, 1500);
    expect(asked.keys).toEqual(['a', 'b', 'a', 'b', 'c', 'a']);
  });

  it('is not given to what is larger than all of it, nor taken from the others for that', async () => {
    const kept = new KeptData<string>(10);
    const asked = new Asked();
    await kept.get('a', later(0), asked.wish('a', { bytes: 10 }));
    await kept.get('b', later(0), asked.wish('b', { bytes: 11 }));
    await kept.get('b', later(0), asked.wish('b', { bytes: 11 }));
    await kept.get('a', later(0), asked.wish('a', { bytes: 10 }));
    expect(asked.keys).toEqual(['a', 'b', 'b']);
  });
});

describe('those who ask at the same time', () => {
  /** A question that is answered when the test says so. */
  function open(): { wish: Wish<string>; answer: (value: string) => void; signals: AbortSignal[] } {
    const gates: PromiseWithResolvers<Fetched<string>>[] = [];
    const signals: AbortSignal[] = [];
    return {
      signals,
      answer: (value) => {
        for (const gate of gates.splice(0)) gate.resolve({ value, bytes: 1, until: now + 1000 });
      },
      wish: {
        suits: () => true,
        ask: async (signal) => {
          signals.push(signal);
          const gate = Promise.withResolvers<Fetched<string>>();
          gates.push(gate);
          return gate.promise;
        },
      },
    };
  }

  it('wait for one answer', async () => {
    const kept = new KeptData<string>(100);
    const { wish, answer, signals } = open();
    const all = [1, 2, 3].map(async () => kept.get('a', later(0), wish));
    answer('one');
    expect(await Promise.all(all)).toEqual(['one', 'one', 'one']);
    expect(signals).toHaveLength(1);
  });

  it('leave alone: the question goes on for the others, and ends with the last of them', async () => {
    const kept = new KeptData<string>(100);
    const { wish, answer, signals } = open();
    const [first, second] = [new AbortController(), new AbortController()];
    const one = kept.get('a', later(0), { ...wish, signal: first.signal });
    const other = kept.get('a', later(0), { ...wish, signal: second.signal });
    first.abort(new Error('first leaves'));
    await expect(one).rejects.toThrow('first leaves');
    expect(signals[0]?.aborted).toBe(false);
    second.abort(new Error('second leaves'));
    await expect(other).rejects.toThrow('second leaves');
    expect(signals[0]?.aborted).toBe(true);
    // Who comes then begins anew, and is not ended by the end of what was before.
    const next = kept.get('a', later(0), wish);
    const beside = kept.get('a', later(0), wish);
    expect(signals).toHaveLength(2);
    answer('next');
    expect(await Promise.all([next, beside])).toEqual(['next', 'next']);
  });

  it('do not end it for one who cannot leave', async () => {
    const kept = new KeptData<string>(100);
    const { wish, answer, signals } = open();
    const stays = kept.get('a', later(0), wish);
    const leaving = new AbortController();
    const leaves = kept.get('a', later(0), { ...wish, signal: leaving.signal });
    leaving.abort(new Error('leaves'));
    await expect(leaves).rejects.toThrow('leaves');
    expect(signals[0]?.aborted).toBe(false);
    answer('one');
    expect(await stays).toBe('one');
  });

  it('ask anew after a failure that they shared', async () => {
    const kept = new KeptData<string>(100);
    const asked = new Asked();
    const failing = asked.wish('a', { fault: 'no server' });
    const ends = await Promise.allSettled([kept.get('a', later(0), failing), kept.get('a', later(0), failing)]);
    expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    expect(await kept.get('a', later(0), asked.wish('a'))).toBe('a 2');
  });
});
