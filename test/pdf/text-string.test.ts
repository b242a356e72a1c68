import { describe, expect, it } from 'vitest';
import { PdfString } from '../../src/pdf/objects.ts';
import { documentBytes, textOf, textString } from '../../src/pdf/text-string.ts';

const textOfBytes = (...bytes: readonly number[]): string | undefined => textOf(new PdfString(Uint8Array.from(bytes)));

describe('PDFDocEncoding', () => {
  it.each([
    [0x18, 'U+02D8'],
    [0x1f, 'U+02DC'],
    [0x80, 'U+2022'],
    [0x8a, 'U+2212'],
    [0x92, 'U+2122'],
    [0x93, 'U+FB01'],
    [0x94, 'U+FB02'],
    [0x95, 'U+0141'],
    [0x99, 'U+017D'],
    [0x9e, 'U+017E'],
    [0x9f, 'U+FFFD'],
    [0xa0, 'U+20AC'],
    [0xe9, 'U+00E9'],
  ])('has at %i the character that annex D.3 names: %s', (byte, name) => {
    const code = textOfBytes(byte)?.codePointAt(0) ?? 0;
    expect(`U+${code.toString(16).toUpperCase().padStart(4, '0')}`).toBe(name);
  });

  it('is read as it is written, every byte', () => {
    for (let byte = 0; byte < 256; byte += 1) {
      const text = textOfBytes(byte) ?? '';
      expect(text).toHaveLength(1);
      if (text !== '\ufffd') expect(documentBytes(text)).toEqual(Uint8Array.of(byte));
    }
  });

  it('does not have every character', () => {
    for (const text of ['Ж', 'aЖ', '\u00a0', '\ufffd', '😀']) expect(documentBytes(text)).toBeUndefined();
    expect(documentBytes('')).toEqual(new Uint8Array());
  });
});

it.each(['', 'plain', 'pâté à l’œuf, 5 €', 'Договор', '😀 \u2028'])('a text string is read as it was written: %j', (text) => {
  expect(textOf(textString(text))).toBe(text);
});
