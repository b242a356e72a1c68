import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BreakableText } from '../../src/typefaces/breakable-text.ts';
import { shapedLine, type ShapedLine } from '../../src/typefaces/shaped-line.ts';
import { typefaces } from '../../src/typefaces/typeface.ts';

const sans = typefaces('SANS', { isBold: false, isItalic: false });

/** The characters of the glyphs, from left to right. */
function seen({ runs }: ShapedLine): string {
  return runs.flatMap(({ glyphs }) => glyphs.map(({ glyph }) => String.fromCodePoint(...glyph.codePoints))).join('');
}

describe('shapedLine', () => {
  it('shows letters of the typeface from left to right', () => {
    const line = shapedLine('Signé par Jeanne', sans);
    expect(seen(line)).toBe('Signé par Jeanne');
    expect(line.runs.map(({ typeface }) => typeface.name)).toEqual(['Arimo-Regular']);
  });

  it('takes letters that the typeface lacks from another one', () => {
    const line = shapedLine('a ✓ b', sans);
    expect(line.runs.map(({ typeface }) => typeface.name)).toEqual(['Arimo-Regular', 'DejaVuSans', 'Arimo-Regular']);
  });

  it.each([
    ['Greek', 'Γιώργος'],
    ['Cyrillic', 'Иван Петрович'],
    ['Vietnamese', 'Nguyễn Thị Ánh'],
  ])('has the letters of %s', (_, text) => {
    expect(seen(shapedLine(text, sans))).toBe(text.normalize('NFC'));
  });

  it('orders what is written from right to left, numbers apart', () => {
    expect(seen(shapedLine('שלום 123', sans))).toBe('123 םולש');
    expect(seen(shapedLine('a שלום b', sans))).toBe('a םולש b');
    expect(seen(shapedLine('(א)', sans))).toBe('(א)');
  });

  it('joins Arabic letters', () => {
    const forms = (text: string): readonly number[] =>
      shapedLine(text, sans).runs.flatMap(({ glyphs }) => glyphs.map(({ glyph }) => glyph.id));
    const alone = ['ب', 'ح', 'ر'].flatMap(forms);
    const joined = forms('بحر');
    expect(joined).toHaveLength(3);
    expect(joined.toReversed()).not.toEqual(alone);
  });

  it('shows a box for characters that no typeface has, and nothing for invisible ones', () => {
    expect(seen(shapedLine('日本', sans))).toBe('□□');
    expect(seen(shapedLine('a\u200db\u2060c\ufeff', sans))).toBe('abc');
    expect(seen(shapedLine('a\tb\u0007c', sans))).toBe('a b c');
  });

  it('never shows the glyph of a missing character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 40 }), (text) => {
        const line = shapedLine(text, sans);
        expect(line.runs.flatMap(({ glyphs }) => glyphs.filter(({ glyph }) => glyph.id === 0))).toEqual([]);
        expect(Number.isFinite(line.width)).toBe(true);
      }),
      { numRuns: 200 },
    );
  });
});

describe('BreakableText', () => {
  it('breaks between words, and within words that are too long', () => {
    const text = new BreakableText('one two threeandmuchmore', sans);
    expect(text.broken(1_000_000).lines).toEqual(['one two threeandmuchmore']);
    expect(text.broken(4000).lines.slice(0, 1)).toEqual(['one two']);
    expect(text.broken(4000).lines.join(' ').replaceAll(' ', '')).toBe('onetwothreeandmuchmore');
  });

  it('makes no line that is too wide, and loses no letter', () => {
    const words = fc.array(fc.string({ unit: fc.constantFrom('a', 'ä', 'W', 'i', 'l', '.', ',', 'é', 'ж'), minLength: 1, maxLength: 30 }), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(words, fc.integer({ min: 1000, max: 12_000 }), (list, width) => {
        const { lines } = new BreakableText(list.join(' '), sans).broken(width);
        for (const line of lines) expect(shapedLine(line, sans).width).toBeLessThanOrEqual(width + 60);
        expect(lines.join('').replaceAll(' ', '')).toBe(list.join(''));
      }),
      { numRuns: 100 },
    );
  });
});
