import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pictureOf } from '../../../src/twoddoc/picture/picture.ts';
import { readSymbol } from '../../../src/twoddoc/picture/read-symbol.ts';
import { symbolOf } from '../../../src/twoddoc/symbol/symbol.ts';
import { repetitions } from '../../support/repetitions.ts';
import { readByOthers } from '../../support/symbol-readers.ts';
import { usualPicture } from '../../support/usual-picture.ts';

const header = 'DC04FR000001125E125C0001FR';
const letters = fc.constantFrom(...Array.from('ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 -./,\x1d\x1e'));
const text = (unit: fc.Arbitrary<string>): fc.Arbitrary<Buffer> =>
  fc.string({ unit, maxLength: 600 }).map((one) => Buffer.from(header + one, 'latin1'));

/** Codes of all kinds: of 2D-Doc as they should be, with lower case letters and controls, with binary signatures. */
const codes = fc.oneof(
  text(letters),
  text(fc.nat(127).map((code) => String.fromCharCode(code))),
  text(fc.nat(255).map((code) => String.fromCharCode(code))),
  fc.uint8Array({ minLength: 1, maxLength: 700 }).map((bytes) => Buffer.from(bytes)),
  fc.tuple(text(letters), fc.uint8Array({ minLength: 64, maxLength: 64 })).map((parts) => Buffer.concat(parts)),
);
const encodations = fc.constantFrom('C40' as const, 'MIXED' as const);
const options = fc.record({
  format: fc.constantFrom('PNG' as const, 'TIFF' as const),
  text: fc.constantFrom('2D-DOC', '', 'Édité à gauche', '2D-Doc — — — — — —'),
  position: fc.constantFrom('TOP' as const, 'RIGHT' as const, 'BOTTOM' as const, 'LEFT' as const),
  modulePixels: fc.integer({ min: 3, max: 9 }),
  dpi: fc.integer({ min: 72, max: 1200 }),
  quietZoneModules: fc.integer({ min: 1, max: 5 }),
});

describe('any code', () => {
  it('is read back from its picture', () => {
    fc.assert(
      fc.property(codes, encodations, options, (code, encodation, option) => {
        expect(Buffer.from(readSymbol(pictureOf(symbolOf(code, encodation), option).content)).equals(code)).toBe(true);
      }),
      { numRuns: repetitions(500) },
    );
  });

  it('is read by dmtxread and ZXing', async () => {
    await fc.assert(
      fc.asyncProperty(codes, encodations, options, async (code, encodation, option) => {
        const picture = pictureOf(symbolOf(code, encodation), { ...option, format: 'PNG' }).content;
        expect(await readByOthers(picture)).toEqual({ dmtxread: code, zxing: code });
      }),
      { numRuns: repetitions(400) },
    );
  });

  it('has in no encodation a larger symbol than in C40', () => {
    fc.assert(
      fc.property(codes, (code) => {
        expect(symbolOf(code, 'MIXED').size).toBeLessThanOrEqual(symbolOf(code).size);
      }),
      { numRuns: repetitions(300) },
    );
  });
});

describe('a code of any length', () => {
  const lengths = Array.from({ length: 40 }, (_, index) => index + 1);

  it.each([
    ['letters', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'],
    ['separators and lower case', 'A\x1dbC2\x1e'],
    ['bytes from 128 on', 'DC\xc901\xe9'],
  ])('of %s is read by dmtxread and ZXing', async (_name, alphabet) => {
    const made = lengths.map((length) => Buffer.from(alphabet.repeat(length).slice(0, length), 'latin1'));
    const read = await Promise.all(made.map(async (code) => readByOthers(pictureOf(symbolOf(code), usualPicture).content)));
    expect(read).toEqual(made.map((code) => ({ dmtxread: code, zxing: code })));
  });
});
