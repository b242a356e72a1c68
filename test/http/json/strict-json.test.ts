import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonError, TooManyValues } from '../../../src/http/json/json-scanner.ts';
import { parseStrictJson } from '../../../src/http/json/strict-json.ts';

const limits = { valuesMax: 1000 };

const parse = (text: string): unknown => parseStrictJson(Buffer.from(text, 'utf8'), limits);
const nested = (depth: number): string => `{"a":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`;

describe('strict JSON', () => {
  it.each([
    ['{"a":1,"a":2}', 'duplicate member name "a"', 7],
    ['{"a":{"b":1,"\\u0062":2}}', 'duplicate member name "b"', 12],
    ['{"\\u0061":1,"a":2}', 'duplicate', 12],
    ['{"\\u0061":1,"\\u0061":2}', 'duplicate', 12],
    ['{"":1,"":2}', 'duplicate member name ""', 6],
    ['{"é\\n":1,"é\\n":2}', 'duplicate member name "\\u00e9\\n"', 10],
    ['{"a":[{"b":1,"b":2}]}', 'duplicate', 13],
    ['{"a":9007199254740992}', '2^53', 5],
    ['{"a":-9007199254740992}', '2^53', 5],
    ['{"a":1e400}', 'double', 5],
    ['{"a":"\\ud800"}', 'surrogate', 5],
    ['{"\\udc00":1}', 'surrogate', 1],
    ['{"a":01}', 'value', 5],
    ['{"a":1.}', 'value', 5],
    ['{"a":+1}', 'value', 5],
    ['{"a":NaN}', 'value', 5],
    ["{'a':1}", 'name', 1],
    ['{"a":1,}', 'a comma after the last member of the object', 7],
    ['{"a":[1,]}', 'a comma after the last entry of the list', 8],
    ['{"a":1} {"b":2}', 'follows', 8],
    ['{"a":"\u0001"}', 'control', 6],
    ['{"a":"\\x"}', 'escape', 5],
    ['{"a":"b', 'without end', 5],
    ['{"a":', 'ends early', 5],
    ['{"a"', 'ends early', 4],
    ['[1]', 'object', 0],
    ['"a"', 'object', 0],
    ['', 'empty', 0],
    ['/* c */{}', 'object', 0],
  ])('refuses %s', (text, message, position) => {
    expect(() => parse(text)).toThrow(expect.objectContaining({ message: expect.stringContaining(message) as string, position }) as Error);
  });

  it('refuses a byte order mark and invalid UTF-8, and states the position', () => {
    expect(() => parse('\ufeff{}')).toThrow('byte order mark');
    for (const bad of [[0xff], [0xc0, 0xaf], [0xed, 0xa0, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xe2, 0x82]]) {
      const bytes = Buffer.concat([Buffer.from('{"é":"'), Buffer.from(bad), Buffer.from('"}')]);
      expect(() => parseStrictJson(bytes, limits)).toThrow(expect.objectContaining({ message: 'not valid UTF-8' }) as Error);
    }
    const [start] = [Buffer.from('{"é":"x')];
    try {
      parseStrictJson(Buffer.concat([start, Buffer.from([0xff]), Buffer.from('"}')]), limits);
    } catch (error) {
      expect((error as JsonError).position).toBe(start.length);
    }
  });

  it('takes 64 levels and refuses 65, and 10 MB of brackets at once', () => {
    expect(parse(nested(64))).toBeTypeOf('object');
    expect(() => parse(nested(65))).toThrow('deeper than 64');
    expect(() => parse(`{"a":${'['.repeat(10_000_000)}`)).toThrow('deeper than 64');
  });

  it('lets objects beside, in and around each other have the same names', () => {
    const text = '{"a":{"a":{"a":1}},"b":[{"a":1},{"a":2}],"\\u0063":{"c":1}}';
    expect(parse(text)).toEqual(JSON.parse(text));
  });

  it('takes no more values than the limit', () => {
    expect(() => parse(`{"a":[${'1,'.repeat(997)}1]}`)).not.toThrow();
    expect(() => parse(`{"a":[${'1,'.repeat(998)}1]}`)).toThrow(TooManyValues);
    expect(() => parse(`{"a":[${'[],'.repeat(10_000_000)}1]}`)).toThrow(TooManyValues);
  });

  it('looks at each byte a fixed number of times, however the escapes lie', () => {
    // One escape at the end: whoever searches it again from each string takes minutes.
    const strings = Array.from({ length: 900 }, () => `"${'a'.repeat(1000)}"`);
    const lately = Buffer.from(`{"a":[${strings.join(',')}],"b":"${'a'.repeat(5_000_000)}\\n"}`);
    const never = Buffer.from(lately.toString().replace('\\n', 'n'));
    const leastMs = (bytes: Buffer): number =>
      Math.min(
        ...Array.from({ length: 3 }, () => {
          const begun = performance.now();
          parseStrictJson(bytes, limits);
          return performance.now() - begun;
        }),
      );
    expect(leastMs(lately)).toBeLessThan(10 * Math.max(50, leastMs(never)));
  });

  it('takes the numbers at the edge, whole numbers with an exponent, and escapes of every kind', () => {
    expect(parse('{"a":9007199254740991,"b":-9007199254740991,"c":60.5,"d":1E2,"e":-0,"f":"\\ud83d\\ude00\\n\\"\\\\"}')).toEqual({
      a: 9007199254740991,
      b: -9007199254740991,
      c: 60.5,
      d: 100,
      e: -0,
      f: '😀\n"\\',
    });
  });

  it('reads whatever JSON.stringify writes as JSON.parse does', () => {
    const member = fc.json({ maxDepth: 5 });
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'grapheme' }), member), (members) => {
        const text = JSON.stringify(members);
        expect(parse(text)).toEqual(JSON.parse(text));
      }),
    );
  });

  it('never takes what JSON.parse refuses, and never throws anything but JsonError', () => {
    const pieces = [
      '{',
      '}',
      '[',
      ']',
      ',',
      ':',
      '"',
      '\\',
      '\\u',
      'd800',
      '0',
      '1',
      '-',
      '.',
      'e',
      'true',
      'null',
      ' ',
      'a',
      '\u0000',
      'é',
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...pieces), { maxLength: 40 }), (parts) => {
        const text = parts.join('');
        let ours: unknown;
        try {
          ours = parse(text);
        } catch (error) {
          expect(error).toBeInstanceOf(JsonError);
          return;
        }
        expect(ours).toEqual(JSON.parse(text));
      }),
      { numRuns: 5000 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 60 }), (bytes) => {
        try {
          parseStrictJson(Buffer.from(bytes), limits);
        } catch (error) {
          expect(error).toBeInstanceOf(JsonError);
        }
      }),
      { numRuns: 5000 },
    );
  });
});
