import { describe, expect, it } from 'vitest';
import { Bitmap } from '../../../src/twoddoc/picture/bitmap.ts';
import { pictureOf, type TextPosition } from '../../../src/twoddoc/picture/picture.ts';
import { pngBitmap } from '../../../src/twoddoc/picture/read-png.ts';
import { checkText, textBitmap } from '../../../src/twoddoc/picture/text-bitmap.ts';
import { TwoDDocFault } from '../../../src/twoddoc/two-d-doc-fault.ts';
import { symbolOf } from '../../../src/twoddoc/symbol/symbol.ts';
import { usualPicture } from '../../support/usual-picture.ts';

const symbol = symbolOf(Buffer.from(`DC04FR000001125E125C0001FR${'26FR245700010MLLE/SAMPLE/ANGELA'.repeat(4)}`));

/** The rows of a picture, one character for each pixel. */
const drawn = (bitmap: Bitmap): string[] =>
  Array.from({ length: bitmap.height }, (_, y) =>
    Array.from({ length: bitmap.width }, (__, x) => (bitmap.isBlack(x, y) ? '#' : ' ')).join(''),
  );

/** The strip of a picture where its text is, with the white around it. */
function strip(position: TextPosition): Bitmap {
  const picture = pngBitmap(pictureOf(symbol, { ...usualPicture, position }).content);
  const side = 5 * (symbol.size + 2);
  const isBeside = position === 'LEFT' || position === 'RIGHT';
  const made = isBeside ? new Bitmap(picture.width - side, side) : new Bitmap(side, picture.height - side);
  const [left, top] = [position === 'RIGHT' ? side : 0, position === 'BOTTOM' ? side : 0];
  for (let y = 0; y < made.height; y += 1)
    for (let x = 0; x < made.width; x += 1) if (picture.isBlack(left + x, top + y)) made.blacken(y, x, x + 1);
  return made;
}

const inkedRows = (bitmap: Bitmap): string[] => drawn(bitmap).filter((row) => row.includes('#'));

describe('the text', () => {
  const upright = inkedRows(strip('BOTTOM'));

  it('is the same above and below the symbol', () => {
    expect(upright.length).toBeGreaterThanOrEqual(25);
    expect(inkedRows(strip('TOP'))).toEqual(upright);
  });

  it('is turned counter-clockwise at the left, clockwise at the right', () => {
    expect(inkedRows(strip('LEFT').turned('CLOCKWISE'))).toEqual(upright);
    expect(inkedRows(strip('RIGHT').turned('COUNTER_CLOCKWISE'))).toEqual(upright);
  });

  it('is centred', () => {
    const [left, right] = [(row: string): number => row.indexOf('#'), (row: string): number => row.length - 1 - row.lastIndexOf('#')].map(
      (margin) => Math.min(...upright.map(margin)),
    );
    expect(Math.abs((left ?? 0) - (right ?? 99))).toBeLessThanOrEqual(1);
  });

  it.each([9, 15, 25, 160])('has capital letters of exactly %i pixels', (pixels) => {
    const rows = drawn(textBitmap('H', pixels));
    expect(rows).toHaveLength(pixels);
    expect([rows.at(-1), new Set(rows).size]).toEqual([rows[0], 2]);
  });

  it('has the same letter in the same way everywhere', () => {
    const rows = drawn(textBitmap('DDDD', 17));
    const letter = drawn(textBitmap('D', 17));
    for (const [index, row] of rows.entries()) {
      expect(row.split((letter[index] ?? '').trimEnd()).length).toBeGreaterThan(1);
    }
  });

  it('that is empty, or nothing but spaces, leaves the symbol alone', () => {
    for (const text of ['', '   ']) expect(pictureOf(symbol, { ...usualPicture, text }).height).toBe(5 * (symbol.size + 2));
  });
});

describe('a text that cannot be drawn is refused', () => {
  it.each([
    ['of more than 64 characters', 'A'.repeat(65), 'the text has 65 characters; at most 64 are allowed'],
    // Brought into order, these marks would take a minute.
    ['of very many marks', `a${'\u0345'.repeat(200_000)}${'\u0334'.repeat(200_000)}`, 'the text has more than 64 characters'],
    ['with a character that the font lacks', 'Société 漢', 'the text has a character that cannot be drawn: 漢 (U+6F22)'],
    ['with a picture', '2D-Doc 🦜', 'the text has a character that cannot be drawn: 🦜 (U+1F99C)'],
    ['with a line break', '2D\nDOC', 'the text has a character that cannot be drawn: U+000A'],
    ['with a half of a character', '2D\ud83e', 'the text has a character that cannot be drawn: U+D83E'],
  ])('%s', (_name, text, message) => {
    expect(() => checkText(text)).toThrow(new TwoDDocFault(message));
    expect(() => pictureOf(symbol, { ...usualPicture, text })).toThrow(message);
  });

  it('but not one of 64 characters, with accents however they are written', () => {
    expect(() => checkText('É'.normalize('NFD').repeat(64))).not.toThrow();
    expect(drawn(textBitmap('É'.normalize('NFD'), 20))).toEqual(drawn(textBitmap('É', 20)));
  });
});
