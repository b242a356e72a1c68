import { execFileSync } from 'node:child_process';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { decodeBase32, encodeBase32 } from '../../src/twoddoc/base32.ts';
import { base32 } from '../support/two-d-doc-values.ts';

/** RFC 4648, 10, without padding. */
test.each([
  ['', ''],
  ['f', 'MY'],
  ['fo', 'MZXQ'],
  ['foo', 'MZXW6'],
  ['foob', 'MZXW6YQ'],
  ['fooba', 'MZXW6YTB'],
  ['foobar', 'MZXW6YTBOI'],
])('%o is written as %o', (text, written) => {
  expect(encodeBase32(Buffer.from(text))).toBe(written);
  expect(decodeBase32(written)).toEqual(new Uint8Array(Buffer.from(text)));
});

test('any bytes are read back, and written as by another encoder', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const written = encodeBase32(bytes);
      expect(written).toBe(base32(bytes));
      expect(decodeBase32(written)).toEqual(bytes);
    }),
  );
});

test('base32 of the GNU core utilities writes the same', () => {
  const bytes = Buffer.from(Array.from({ length: 64 }, (_, at) => (at * 37) & 0xff));
  const written = execFileSync('base32', ['--wrap=0'], { input: bytes, encoding: 'utf8' });
  expect(encodeBase32(bytes)).toBe(written.replaceAll('=', ''));
});

test.each(['A', 'AAA', 'AAAAAA', 'MZ', 'MZXR', 'MZXW7', 'MZXW6YR', 'my', 'MY======', 'M1', 'M Y', 'MÉ'])(
  '%o is the text of no bytes: a length that is not possible, bits behind the last byte, another character',
  (text) => {
    expect(decodeBase32(text)).toBeUndefined();
  },
);

test('any text is refused, or is exactly how its bytes are written', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ234567')), maxLength: 20 }), (text) => {
      const bytes = decodeBase32(text);
      if (bytes !== undefined) expect(base32(bytes)).toBe(text);
    }),
  );
});
