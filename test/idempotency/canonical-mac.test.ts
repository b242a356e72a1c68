import * as fc from 'fast-check';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { canonicalMac } from '../../src/idempotency/canonical-mac.ts';

const key = Buffer.alloc(32, 1);
const macOf = async (value: unknown, with_ = key): Promise<string> => (await canonicalMac(with_, value)).toString('hex');

/** The same value with its members in another order, and written and read again. */
function turned(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(turned);
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, member]) => [name, turned(member)]),
  );
}

const json = fc.jsonValue({ stringUnit: 'grapheme' });

describe('the MAC of a JSON value', () => {
  it('is the same however the value is written', async () => {
    await fc.assert(
      fc.asyncProperty(json, async (value) => {
        const plain: unknown = JSON.parse(JSON.stringify(value));
        expect(await macOf(JSON.parse(JSON.stringify(turned(plain), undefined, 2)))).toBe(await macOf(plain));
      }),
    );
  });

  it('is another for another value, and under another key', async () => {
    await fc.assert(
      fc.asyncProperty(json, json, async (a, b) => {
        const [one, other] = [JSON.stringify(turned(a)), JSON.stringify(turned(b))];
        fc.pre(JSON.stringify(a) !== JSON.stringify(b) && one !== other);
        expect(await macOf(a)).not.toBe(await macOf(b));
        expect(await macOf(a, Buffer.alloc(32, 2))).not.toBe(await macOf(a));
      }),
    );
  });

  it.each([
    [['1'], [1]],
    [['a', 'b'], ['ab']],
    [[['a'], 'b'], [['a', 'b']]],
    [{ a: 'b' }, ['a', 'b']],
    [{ a: null }, {}],
    [['true'], [true]],
    [['"1:a'], ['a']],
    [[1, 2], [12]],
    [[], {}],
  ])('tells %j from %j', async (a, b) => {
    expect(await macOf(a)).not.toBe(await macOf(b));
  });

  it('is the same for long texts, wherever they are cut', async () => {
    const texts = ['é😀', 'a😀', 'ab😀', '😀'].map((unit) => unit.repeat(700_000));
    const macs = await Promise.all(texts.map(async (text) => macOf({ text, more: 1 })));
    expect(new Set(macs).size).toBe(texts.length);
    expect(await Promise.all(texts.map(async (text) => macOf({ more: 1, text: JSON.parse(JSON.stringify(text)) as string })))).toEqual(
      macs,
    );
    const long = 'x'.repeat(3_000_000);
    expect(await macOf([`${long}1`])).not.toBe(await macOf([`${long}2`]));
  });

  it('lets the event loop turn', async () => {
    let turns = 0;
    const done = new AbortController();
    const counting = (async () => {
      while (!done.signal.aborted) {
        await nextTurn();
        turns += 1;
      }
    })();
    await macOf({ text: 'x'.repeat(32 << 20), list: Array.from({ length: 300_000 }, (_, index) => index) });
    done.abort();
    await counting;
    expect(turns).toBeGreaterThan(30);
  });
});
