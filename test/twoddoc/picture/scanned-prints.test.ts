import { describe, expect, it } from 'vitest';
import { pictureOf } from '../../../src/twoddoc/picture/picture.ts';
import { symbolOf } from '../../../src/twoddoc/symbol/symbol.ts';
import { scannedPrint } from '../../support/scanned-print.ts';
import { readByOthers } from '../../support/symbol-readers.ts';
import { usualPicture } from '../../support/usual-picture.ts';

const header = 'DC04FR000001125E125C0001FR26FR245700010MLLE/SAMPLE/ANGELA\x1d20\x1d\x1f';
const codeOf = (length: number): Buffer => Buffer.from((header + 'B7Q2LK5Z3'.repeat(100)).slice(0, length));

describe.each([300, 200])('a print that is scanned at %i dpi', (dpi) => {
  it.each([
    [100, 'BOTTOM', 2],
    [200, 'BOTTOM', -5],
    [200, 'LEFT', 45],
    [200, 'TOP', 90],
    [200, 'RIGHT', 180],
    [400, 'BOTTOM', 17],
    [400, 'RIGHT', 271],
    [900, 'LEFT', 135],
  ] as const)('with %i characters, the text at the %s, turned by %i°, is read', async (length, position, degrees) => {
    const code = codeOf(length);
    const print = pictureOf(symbolOf(code), { ...usualPicture, position }).content;
    expect(await readByOthers(scannedPrint(print, usualPicture.dpi, { dpi, degrees, seed: length + dpi }))).toEqual({
      dmtxread: code,
      zxing: code,
    });
  });
});
