import * as fc from 'fast-check';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { LongText } from '../../src/documents/long-text.ts';
import { canonicalMac } from '../../src/idempotency/canonical-mac.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';

const key = Buffer.alloc(32, 1);
const threads = new WorkThreads();
afterAll(async () => threads.stop());
const macOf = async (value: unknown, with_ = key): Promise<string> => (await canonicalMac(with_, value, threads)).toString('hex');

/** A text as a big body brings it. */
function longText(kind: LongText['kind'], bytes: Uint8Array): LongText {
  const memory = new Uint8Array(new SharedArrayBuffer(bytes.length));
  memory.set(bytes);
  return new LongText(kind, memory);
}

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

  it('differs for another value, and with another key', async () => {
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

  it.each([0, 1, 300, 767, 768, 769, 1023, 1024, 3 << 18, (3 << 18) + 1, (6 << 18) + 2])(
    'is the same for a text of %s bytes, whether it came in a big body or in a small one',
    async (length) => {
      const bytes = Buffer.alloc(length, 'aé😀');
      const base64 = bytes.toString('base64');
      expect(await macOf({ a: longText('base64', bytes) })).toBe(await macOf({ a: base64 }));
      const text = bytes.toString('utf8');
      expect(await macOf({ a: longText('text', Buffer.from(text)) })).toBe(await macOf({ a: text }));
      expect(await macOf({ a: longText('text', Buffer.from(`${text}x`)) })).not.toBe(await macOf({ a: text }));
    },
  );

  it('differs if one character of a long text differs', async () => {
    const long = 'x'.repeat(3_000_000);
    expect(await macOf([`${long}1`])).not.toBe(await macOf([`${long}2`]));
  });

  it('leaves long texts to the threads, and lets the event loop turn', async () => {
    const bytes = Buffer.alloc(32 << 20, 7);
    const value = { base64: longText('base64', bytes), list: Array.from({ length: 300_000 }, (_, index) => index) };
    let turns = 0;
    const done = new AbortController();
    const counting = (async () => {
      while (!done.signal.aborted) {
        await nextTurn();
        turns += 1;
      }
    })();
    await macOf(value);
    done.abort();
    await counting;
    expect(turns).toBeGreaterThan(30);
  });
});
