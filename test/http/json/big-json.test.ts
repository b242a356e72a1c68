import * as fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { LongText } from '../../../src/documents/long-text.ts';
import { decodeInPlace, isBase64 } from '../../../src/http/json/strict-base64.ts';
import { parseBigJson } from '../../../src/http/json/big-json.ts';
import { parseStrictJson } from '../../../src/http/json/strict-json.ts';
import { WorkThreads } from '../../../src/threads/work-threads.ts';

const threads = new WorkThreads();
afterAll(async () => threads.stop());
const limits = { valuesMax: 10_000 };

/** The body in shared memory, as it comes in chunks. */
function shared(bytes: Buffer, pieceBytes = bytes.length): { pieces: SharedArrayBuffer[]; length: number } {
  const pieces: SharedArrayBuffer[] = [];
  for (let offset = 0; offset < bytes.length; offset += pieceBytes) {
    const piece = new SharedArrayBuffer(pieceBytes);
    Buffer.from(piece).set(bytes.subarray(offset, offset + pieceBytes));
    pieces.push(piece);
  }
  return { pieces, length: bytes.length };
}

/** With its long texts written out. */
function plain(value: unknown): unknown {
  if (value instanceof LongText) return value.toText();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, plain(member)]));
}

const big = (letter: string, length = 700_000): string => letter.repeat(length);

describe('a big body', () => {
  it.each([1, 3, 1000])('is the same value as a small one would be, in pieces of a %sth', async (parts) => {
    const value = {
      text: big('é', 300_000),
      base64Value: Buffer.alloc(600_001, 7).toString('base64'),
      almost: `${big('A')}=`,
      slashes: 'PLACE',
      plainValue: big('AAAA', 200_000),
      list: [{ inner: big('x') }, 1, null, { inner: 'short' }],
      __proto: 'x',
    };
    const text = JSON.stringify(value).replace('"PLACE"', `"${'\\/\\/\\/\\/'.repeat(100_000)}"`);
    const bytes = Buffer.from(text);
    const read = await parseBigJson(shared(bytes, Math.ceil(bytes.length / parts)), limits, threads);
    expect(plain(read)).toEqual(parseStrictJson(bytes, limits));
    expect(read['base64Value']).toMatchObject({ kind: 'base64', bytes: expect.objectContaining({ length: 600_001 }) as unknown });
    // Base64 with escapes, as some libraries write it, is base64 after them.
    expect(read['slashes']).toMatchObject({ kind: 'base64', bytes: expect.objectContaining({ length: 300_000 }) as unknown });
    expect(read['plainValue']).toMatchObject({ kind: 'text' });
    expect(read['almost']).toMatchObject({ kind: 'text' });
  });

  it('is refused for the same faults as a small one, at the same position', async () => {
    const filler = big('x');
    for (const [text, message] of [
      [`{"a":"${filler}","a":1}`, 'duplicate'],
      [`{"a":"${filler}\\ud800"}`, 'surrogate'],
      [`{"a":"${filler}"`, 'early'],
      [`{"a":"${filler}\u0001"}`, 'control'],
      [`{"b":"${filler}","a":[${'1,'.repeat(20_000)}1]}`, 'more than 10000 values'],
    ] as const) {
      const bytes = Buffer.from(text);
      const small = ((): unknown => {
        try {
          return parseStrictJson(bytes, limits);
        } catch (error) {
          return error;
        }
      })();
      await expect(parseBigJson(shared(bytes), limits, threads)).rejects.toMatchObject({
        message: expect.stringContaining(message) as string,
        position: (small as { position: number }).position,
      });
    }
  });

  it('gives the event loop only little text, whatever it consists of', async () => {
    const many = `{"a":[${Array.from({ length: 3000 }, () => `"${'x'.repeat(5000)}"`).join(',')}],"${big('n')}":1}`;
    const read = await parseBigJson(shared(Buffer.from(many)), limits, threads);
    const names = Object.keys(read);
    expect(names.every((name) => name.length < 100)).toBe(true);
    const texts = read['a'] as unknown[];
    const plainBytes = texts.reduce<number>((sum, text) => sum + (typeof text === 'string' ? text.length : 0), 0);
    expect(plainBytes).toBeLessThan(1024 * 1024);
    expect(plain(texts)).toEqual(Array.from({ length: 3000 }, () => 'x'.repeat(5000)));
  });
});

describe('base64 in place', () => {
  it('is what Node decodes, and nothing else is base64', () => {
    const text = fc.oneof(
      fc.uint8Array().map((bytes) => Buffer.from(bytes).toString('base64')),
      fc.string({ unit: fc.constantFrom('A', 'z', '0', '+', '/', '=', '-', ' ', '\n'), maxLength: 12 }),
    );
    fc.assert(
      fc.property(text, (one) => {
        const decoded = Buffer.from(one, 'base64');
        expect(isBase64(Buffer.from(one))).toBe(decoded.toString('base64') === one);
        if (!isBase64(Buffer.from(one))) return;
        const place = Buffer.from(one);
        expect(place.subarray(0, decodeInPlace(place))).toEqual(decoded);
      }),
    );
    const long = Buffer.alloc(5_000_001, 0xa7);
    const place = Buffer.from(long.toString('base64'));
    expect(place.subarray(0, decodeInPlace(place)).equals(long)).toBe(true);
  });
});
