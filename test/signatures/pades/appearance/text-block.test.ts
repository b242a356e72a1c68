import { describe, expect, it } from 'vitest';
import type { DrawnText } from '../../../../src/pdf/drawing.ts';
import { textBlock, type BlockStyle, type Paragraph } from '../../../../src/signatures/pades/appearance/text-block.ts';
import { shapedLine, type ShapedLine } from '../../../../src/typefaces/shaped-line.ts';
import { typefaces } from '../../../../src/typefaces/typeface.ts';

const faces = typefaces('SANS', { isBold: false, isItalic: false });
const colour = { red: 0, green: 0, blue: 0 };
const labelColour = { red: 0.5, green: 0.5, blue: 0.5 };
const style: BlockStyle = { ...{ colour, labelColour, labelTypefaces: faces, fontSizeMax: 10, mayShrink: false, alignment: 'LEFT' } };
const area = { x: 20, y: 30, width: 300, height: 100 };

const paragraph = (text: string, label?: string): Paragraph => ({
  ...{ text, typefaces: faces },
  label: label === undefined ? undefined : { beside: label, inline: `${label}: ` },
});
const wordsOf = ({ runs }: ShapedLine): string =>
  runs.flatMap(({ glyphs }) => glyphs.map(({ glyph }) => String.fromCodePoint(...glyph.codePoints))).join('');
const widthOf = (text: string): number => shapedLine(text, faces).width / 1000;
const round = (value: number): number => Math.round(value * 1000) / 1000;
const seen = (drawn: readonly DrawnText[]): unknown[] =>
  drawn.map(({ line, x, y, fontSize, colour: { red } }) => [wordsOf(line), round(x), round(y), round(fontSize), red]);
const block = (paragraphs: readonly Paragraph[], more: Partial<BlockStyle> = {}, within: Partial<typeof area> = {}): unknown[] =>
  seen(textBlock(paragraphs, { ...area, ...within }, { ...style, ...more }));

describe('a block of text', () => {
  it('is in the middle of its area from top to bottom, by the heights of letters', () => {
    // One line is 0.95 of the font size high, 0.74 of it above the base line.
    expect(block([paragraph('One')])).toEqual([['One', 20, round(30 + 100 - (100 - 9.5) / 2 - 7.4), 10, 0]]);
    expect(block([])).toEqual([]);
  });

  it('has 1.22 of the font size between lines, and a little more between paragraphs', () => {
    const top = 30 + 100 - (100 - (9.5 + 13.6 + 13.6)) / 2 - 7.4;
    expect(block([paragraph('One'), paragraph('Two'), paragraph('Three')])).toEqual([
      ['One', 20, round(top), 10, 0],
      ['Two', 20, round(top - 13.6), 10, 0],
      ['Three', 20, round(top - 27.2), 10, 0],
    ]);
    const width = widthOf('One Two') * 10 - 1;
    const broken = 30 + 100 - (100 - (9.5 + 12.2)) / 2 - 7.4;
    expect(block([paragraph('One Two')], {}, { width })).toEqual([
      ['One', 20, round(broken), 10, 0],
      ['Two', 20, round(broken - 12.2), 10, 0],
    ]);
  });

  it('has its labels in a column, with 0.7 of the font size between', () => {
    const x = 20 + (widthOf('Signed by') + 0.7) * 10;
    const rows = block([paragraph('Ann', 'Signed by'), paragraph('now', 'At'), paragraph('free')]);
    expect(rows).toEqual([
      ['Signed by', 20, expect.any(Number), 10, 0.5],
      ['Ann', round(x), expect.any(Number), 10, 0],
      ['At', 20, expect.any(Number), 10, 0.5],
      ['now', round(x), expect.any(Number), 10, 0],
      ['free', 20, expect.any(Number), 10, 0],
    ]);
  });

  it('has a label at the first line of its paragraph alone', () => {
    const text = 'word '.repeat(20).trim();
    const words = (block([paragraph(text, 'Label')]) as [string][]).map(([word]) => word);
    expect(words.filter((word) => word === 'Label')).toHaveLength(1);
    expect(words[0]).toBe('Label');
    expect(words.length).toBeGreaterThan(2);
  });

  it('has its labels in the lines where the values would have less than 0.55 of the width', () => {
    const column = (widthOf('Label') + 0.7) * 10;
    expect(block([paragraph('a', 'Label')], {}, { width: column / 0.45 + 0.1 })).toHaveLength(2);
    expect(block([paragraph('a', 'Label')], {}, { width: column / 0.45 - 0.1 })).toEqual([['Label: a', 20, expect.any(Number), 10, 0]]);
  });

  it('can be centred', () => {
    expect(block([paragraph('One')], { alignment: 'CENTRE' })).toEqual([
      ['One', round(20 + (300 - widthOf('One') * 10) / 2), expect.any(Number), 10, 0],
    ]);
  });

  it('becomes smaller by 6 % until it has room', () => {
    const size = (height: number, text = 'One'): number => {
      const [first] = textBlock([paragraph(text), paragraph(text)], { ...area, height }, style);
      return round(first?.fontSize ?? 0);
    };
    expect(size(23.1)).toBe(10);
    expect(size(23.0)).toBe(9.4);
    expect(size(21)).toBe(8.836);
    expect(size(9.3)).toBe(4);
  });

  it('is never larger than its area is high, and never smaller than 4 unless that is', () => {
    const sizes = (height: number, fontSizeMax: number): number =>
      textBlock([paragraph('A')], { ...area, height }, { ...style, fontSizeMax })[0]?.fontSize ?? 0;
    expect(sizes(100, 200)).toBe(100);
    expect(sizes(3, 10)).toBe(3);
    expect(sizes(100, 2)).toBe(2);
  });

  it('may be a little smaller, so that it has fewer lines, where that is allowed', () => {
    const width = widthOf('One') + widthOf(' ') + widthOf('Two');
    expect(block([paragraph('One Two')], {}, { width: width * 9 })).toHaveLength(2);
    expect(block([paragraph('One Two')], { mayShrink: true }, { width: width * 9 })).toEqual([
      ['One Two', 20, expect.any(Number), 8.836, 0],
    ]);
    // Five sizes are tried: 10 × 0.94⁴ is the smallest of them.
    const smallest = 10 * 0.94 ** 4;
    expect(block([paragraph('One Two')], { mayShrink: true }, { width: width * (smallest + 0.01) })).toHaveLength(1);
    expect(block([paragraph('One Two')], { mayShrink: true }, { width: width * (smallest - 0.01) })).toHaveLength(2);
  });

  it('is rather smaller than with a word that is torn', () => {
    const width = widthOf('Maximilian') * 6;
    const [first, ...others] = textBlock([paragraph('Maximilian')], { ...area, width }, style);
    expect(others).toEqual([]);
    expect(first?.fontSize).toBeLessThanOrEqual(6);
    expect(textBlock([paragraph('Maximilian'), paragraph('A')], { ...area, width }, style)).toHaveLength(2);
    const torn = textBlock([paragraph('Maximilian')], { ...area, width: widthOf('Maximilian') * 3 }, style);
    expect(torn.length).toBeGreaterThan(1);
    expect(torn[0]?.fontSize).toBe(10);
  });

  it('is cut with an ellipsis where it has no room at the smallest size', () => {
    const paragraphs = ['One', 'Second', 'Third'].map((text) => paragraph(text));
    const height = 4 * (0.95 + 1.36);
    expect((block(paragraphs, {}, { height: height + 0.01 }) as [string][]).map(([text]) => text)).toEqual(['One', 'Seco…']);
    expect((block(paragraphs, {}, { height: height - 0.01 }) as [string][]).map(([text]) => text)).toEqual(['O…']);
    expect((block(paragraphs, {}, { height: 1 }) as [string][]).map(([text]) => text)).toEqual(['O…']);
    expect((block([paragraph('A'), paragraph('B')], {}, { height: 1 }) as [string][]).map(([text]) => text)).toEqual(['…']);
    expect((block([paragraph('One')], {}, { height: 1 }) as [string][]).map(([text]) => text)).toEqual(['One']);
  });
});
