import { describe, expect, it } from 'vitest';
import { dataCodewords } from '../../../src/twoddoc/symbol/data-matrix.ts';
import { decoded } from '../../../src/twoddoc/symbol/decoded.ts';
import { mixedCodewords } from '../../../src/twoddoc/symbol/mixed.ts';
import { symbolOf } from '../../../src/twoddoc/symbol/symbol.ts';

const bytes = (text: string): Buffer => Buffer.from(text, 'latin1');
const aim = [91, 11];

describe('C40', () => {
  it.each([
    ['ends with the symbol', 'AIM'.repeat(2) + 'AI', [230, ...aim, ...aim, 90, 241, 254]],
    ['ends exactly with the symbol', 'AIMAI', [230, ...aim, 90, 241]],
    ['fills up with pads', 'AIM'.repeat(4), [230, ...aim, ...aim, ...aim, ...aim, 254, 129, 147]],
    ['pads two values that are left over with shift 1', 'AIMAIMAIMAI', [230, ...aim, ...aim, ...aim, 90, 241, 254, 129, 147]],
    ['has one value that is left over in ASCII', 'AIMA', [230, ...aim, 254, 66]],
    ['needs no end before the last codeword', 'AIMAIMAIMA', [230, ...aim, ...aim, ...aim, 66]],
    ['has a character in ASCII of which one value is left over', 'AIMAIa', [230, ...aim, 90, 241, 254, 98, 129]],
    ['has no latch if all is in ASCII', 'A', [66, 129, 70]],
  ])('%s', (_name, text, codewords) => {
    expect([...dataCodewords(symbolOf(bytes(text)))]).toEqual(codewords);
  });

  it('takes Base 256 for a binary signature, since that is shorter', () => {
    const text = 'DC01FR000001125E125C0026FR245700010MLLE/SAMPLE/ANGELA\x1d';
    const signature = Uint8Array.from({ length: 64 }, (_, index) => (index * 101 + 128) & 0xff);
    const codewords = dataCodewords(symbolOf(Buffer.concat([bytes(text), signature])));
    expect([codewords[0], codewords.includes(231)]).toEqual([230, true]);
    expect(codewords).toHaveLength(114);
  });

  it('takes upper shift for a single byte from 128 on', () => {
    const codewords = dataCodewords(symbolOf(bytes(`DC04\xc9${'A'.repeat(40)}`)));
    expect([codewords[0], codewords.indexOf(231)]).toEqual([230, -1]);
  });
});

describe('decoding', () => {
  // The examples are those of the standard and of its readers' tests.
  it.each([
    ['ASCII', [142, 164, 186, 129, 56], '123456'],
    ['upper shift', [235, 36, 66, 129], '\xa3A'],
    ['C40', [230, ...aim, ...aim, ...aim, 254, 129], 'AIMAIMAIM'],
    ['Text', [239, ...aim, ...aim, ...aim, 254, 129], 'aimaimaim'],
    ['X12', [238, 89, 233, 14, 192, 100, 207, 44, 31, 67], 'ABC>ABC123>AB'],
    [
      'EDIFACT',
      [240, 184, 27, 131, 198, 236, 238, 16, 21, 1, 187, 28, 179, 16, 21, 1, 187, 28, 179, 16, 21, 1],
      '.A.C1.3.DATA.123DATA.123DATA',
    ],
    ['EDIFACT with two codewords left for ASCII', [240, 184, 27, 131, 198, 236, 238, 98, 230, 50, 47, 47], '.A.C1.3.X.X2..'],
    ['Base 256 up to the end of the symbol', [231, 44, 108, 59, 226, 126, 1, 104], '\xab\xe4\xf6\xfc\xe9\xbb'],
  ])('reads %s', (_name, codewords, text) => {
    expect(Buffer.from(decoded(Uint8Array.from(codewords))).toString('latin1')).toBe(text);
  });

  it.each([
    ['Text', 239, 'the quick brown fox jumps over the lazy dog, twice'],
    ['X12', 238, 'ABC>DEF*GHI>JKL*MNO>PQR*STU>VWX*123>456*789>\r'],
    ['EDIFACT', 240, '.A.C1.3.DATA.!?<>;.A.C1.3.(DATA).[X].^_@'],
    ['C40', 230, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ ABCDEFGHIJKLM'],
    ['Base 256', 231, '\xab\xe4\xf6\xfc\xe9\xbb\x80\xff\x90\xab\xe4\xf6\xfc\xe9\xbb'.repeat(20)],
  ])('reads what another encoder writes in %s', (_name, latch, text) => {
    const codewords = mixedCodewords(bytes(text)) ?? new Uint8Array();
    expect(codewords[0]).toBe(latch);
    expect(Buffer.from(decoded(codewords)).toString('latin1')).toBe(text);
  });

  it.each([
    ['FNC1', [232, 66, 129]],
    ['a macro', [236, 66, 129]],
    ['ECI', [241, 27, 66]],
    ['the end of an encodation that has not begun', [66, 254, 129]],
    ['an upper shift at the end', [66, 67, 235]],
    ['C40 with a value that stands for nothing', [230, 10, 161, 254, 129]],
    ['Base 256 that is longer than the symbol', [231, 200, 1]],
  ])('refuses %s', (_name, codewords) => {
    expect(() => decoded(Uint8Array.from(codewords))).toThrow(/stands for no character|longer than the symbol/);
  });
});

describe('a code of the wrong size', () => {
  it('that is too large names its codewords and the limit', () => {
    const message = 'the code is too large for a symbol: it takes 1561 codewords, and the largest symbol (144 × 144) has 1558';
    expect(() => symbolOf(bytes('A'.repeat(2340)))).toThrow(message);
    expect(() => symbolOf(bytes('A'.repeat(2340)), 'MIXED')).toThrow(message);
    expect(symbolOf(bytes('A'.repeat(2335))).size).toBe(144);
  });

  it('that is much too large is refused at once', () => {
    expect(() => symbolOf(bytes('1'.repeat(200_000)), 'MIXED')).toThrow('the code is too large for a symbol: it takes 133335 codewords');
  });

  it('that is empty is refused', () => {
    expect(() => symbolOf(new Uint8Array())).toThrow('the code is empty');
  });

  it('that is too large in C40 may fit in a mixture of encodations', () => {
    const digits = bytes('1'.repeat(3000));
    expect(() => symbolOf(digits)).toThrow('too large');
    expect(Buffer.from(decoded(dataCodewords(symbolOf(digits, 'MIXED')))).equals(digits)).toBe(true);
  });
});
