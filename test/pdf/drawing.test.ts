import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { inflateSync } from 'node:zlib';
import { create, type Glyph } from 'fontkit';
import { describe, expect, it } from 'vitest';
import { Drawing } from '../../src/pdf/drawing.ts';
import { EmbeddedFont } from '../../src/pdf/embedded-font.ts';
import { objectText } from '../../src/pdf/object-text.ts';
import { isArray, PdfDictionary, PdfReference, PdfStream, type PdfObject } from '../../src/pdf/objects.ts';
import { Revision } from '../../src/pdf/revision.ts';
import type { PlacedGlyph } from '../../src/typefaces/shaped-line.ts';
import type { Typeface } from '../../src/typefaces/typeface.ts';
import { madePdf, usualObjects } from './made-pdf.ts';
import { opened } from './opened.ts';

// Of its own, since a font keeps the characters by which each of its glyphs was first asked for.
const font = create(readFileSync(fileURLToPath(import.meta.resolve('@expo-google-fonts/arimo/400Regular/Arimo_400Regular.ttf'))));
if (!('glyphForCodePoint' in font)) throw new Error('several fonts');
const face: Typeface = { name: font.postscriptName, font };
const newRevision = (): Revision => new Revision(opened(madePdf(usualObjects())));
const glyphOf = (character: string): Glyph => font.glyphForCodePoint(character.codePointAt(0) ?? 0);
/** A glyph that stands for some characters. */
const standingFor = (id: number, codePoints: readonly number[]): Glyph =>
  Object.create(font.getGlyph(id), { codePoints: { value: codePoints } }) as Glyph;
const thousandths = (glyph: Glyph): number => (glyph.advanceWidth * 1000) / font.unitsPerEm;

const textIn = (stream: PdfObject): string => {
  if (!(stream instanceof PdfStream) || !(stream.encoded instanceof Uint8Array)) throw new Error('no stream of its own');
  const bytes = stream.dictionary.has('Filter') ? inflateSync(stream.encoded) : stream.encoded;
  return Buffer.from(bytes).toString('latin1');
};

describe('a line of text that is drawn', () => {
  const colour = { red: 0, green: 0.25, blue: 1 };
  /** Operators between the matrix of the text and its end. */
  function drawn(...glyphs: readonly Partial<PlacedGlyph>[]): readonly string[] {
    const drawing = new Drawing(newRevision());
    const glyph = glyphOf('A');
    const usual: PlacedGlyph = { glyph, advance: thousandths(glyph), offsetX: 0, offsetY: 0 };
    const line = { runs: [{ typeface: face, glyphs: glyphs.map((one) => ({ ...usual, ...one })) }], width: 0 };
    drawing.text({ line, x: 1, y: 2.00049, fontSize: 10, colour });
    const operators = textIn(drawing.form({}, undefined)).split('\n');
    expect(operators.slice(0, 4)).toEqual(['BT', '0 0.25 1 rg', '1 0 0 1 1 2 Tm', '/F1 10 Tf']);
    expect(operators.slice(-2)).toEqual(['ET', '']);
    return operators.slice(4, -2);
  }
  const wide = (by: number): Partial<PlacedGlyph> => ({ advance: thousandths(glyphOf('A')) + by });

  it('has distances from half a thousandth of the font size on', () => {
    expect(drawn({}, {})).toEqual(['[<00010001>] TJ']);
    expect(drawn(wide(0.49), wide(-0.49), {})).toEqual(['[<000100010001>] TJ']);
    expect(drawn(wide(0.51), {})).toEqual(['[<0001> -0.51 <0001>] TJ']);
    expect(drawn(wide(-2), {})).toEqual(['[<0001> 2 <0001>] TJ']);
    expect(drawn({}, wide(3))).toEqual(['[<00010001> -3 ] TJ']);
    expect(drawn({ offsetX: 100 }, {})).toEqual(['[ -100 <0001> 100 <0001>] TJ']);
  });

  it('is raised where a glyph is, and not behind it', () => {
    expect(drawn({}, { offsetY: 50 }, { offsetY: 50 }, {})).toEqual(['[<0001>] TJ', '0.5 Ts', '[<00010001>] TJ', '0 Ts', '[<0001>] TJ']);
    expect(drawn({ offsetY: -50 })).toEqual(['-0.5 Ts', '[<0001>] TJ', '0 Ts']);
    expect(drawn()).toEqual([]);
  });
});

describe('a drawing', () => {
  it('is a form with the resources that it uses, and no others', () => {
    const revision = newRevision();
    const empty = new Drawing(revision).form({ BBox: [0, 0, 1, 1] }, undefined);
    expect(objectText(empty.dictionary)).toBe('<</Type /XObject/Subtype /Form/BBox [0 0 1 1]/Resources <<>>>>');
    const drawing = new Drawing(revision);
    drawing.image(new PdfReference(7, 0), { x: 1, y: 2, width: 30, height: 40 });
    drawing.image(new PdfReference(8, 0), { x: 1e-7, y: 2, width: 30.12345, height: 40 });
    const form = drawing.form({}, PdfDictionary.of({ DefaultRGB: new PdfReference(9, 0) }));
    expect(objectText(form.dictionary.get('Resources'))).toBe('<</XObject <</Im1 7 0 R/Im2 8 0 R>>/ColorSpace <</DefaultRGB 9 0 R>>>>');
    expect(textIn(form)).toBe('q 30 0 0 40 1 2 cm /Im1 Do Q\nq 30.123 0 0 40 0 2 cm /Im2 Do Q\n');
  });
});

describe('a font in a file', () => {
  /** The font with these glyphs. */
  function written(glyphs: readonly Glyph[]): {
    readonly name: string;
    readonly toUnicode: string;
    readonly descendant: PdfDictionary;
    /** CIDSet. */
    readonly set: string;
  } {
    const revision = newRevision();
    const embedded = new EmbeddedFont(revision, face);
    for (const glyph of glyphs) embedded.code(glyph);
    embedded.write();
    const dictionary = revision.resolved(embedded.reference);
    if (!(dictionary instanceof PdfDictionary)) throw new Error('no font');
    const descendants = dictionary.get('DescendantFonts');
    const descendant = revision.resolved(isArray(descendants) ? (descendants[0] ?? null) : null);
    if (!(descendant instanceof PdfDictionary)) throw new Error('no descendant');
    const descriptor = revision.get(descendant, 'FontDescriptor');
    if (!(descriptor instanceof PdfDictionary)) throw new Error('no descriptor');
    return {
      name: objectText(dictionary.get('BaseFont')),
      toUnicode: textIn(revision.get(dictionary, 'ToUnicode')),
      descendant,
      set: textIn(revision.get(descriptor, 'CIDSet')),
    };
  }
  const characters = Array.from({ length: 94 }, (_, index) => String.fromCodePoint(0x21 + index));

  it('has a name by the glyphs that it has', () => {
    const names = characters.map((character) => written([glyphOf(character)]).name);
    for (const name of names) expect(name).toMatch(/^\/[A-Z]{6}\+Arimo-Regular$/);
    expect(new Set(names).size).toBe(names.length);
    expect(written([glyphOf('!')]).name).toBe(names[0]);
  });

  it('has a bit for each of its glyphs, and no other', () => {
    const bits = (count: number): string => {
      const { set } = written(characters.slice(0, count).map(glyphOf));
      return Array.from(Buffer.from(set, 'latin1'), (byte) => byte.toString(2).padStart(8, '0')).join('');
    };
    // The glyph for missing characters is one more.
    for (const count of [6, 7, 8, 15, 16]) expect(bits(count)).toBe('1'.repeat(count + 1).padEnd(8 * Math.ceil((count + 1) / 8), '0'));
  });

  it('has its glyphs once, with their widths, in the order in which they were used', () => {
    const { descendant } = written([glyphOf('i'), glyphOf('W'), glyphOf('i')]);
    expect(objectText(descendant.get('W'))).toBe('[1 [222.17] 2 [943.85]]');
  });

  it('says what its glyphs mean: several characters, those beyond 16 bits, or nothing', () => {
    const meaning = (...codePoints: number[]): string =>
      /endcodespacerange\n([^]*)endcmap/.exec(written([standingFor(40, codePoints)]).toUnicode)?.[1] ?? '';
    expect(meaning(0x66, 0x69)).toBe('1 beginbfchar\n<0001> <00660069>\nendbfchar\n');
    expect(meaning(0x1d11e)).toBe('1 beginbfchar\n<0001> <d834dd1e>\nendbfchar\n');
    expect(meaning()).toBe('');
  });

  it('says it of at most 100 glyphs at once', () => {
    const counts = (count: number): readonly string[] => {
      const glyphs = Array.from({ length: count }, (_, index) => standingFor(index + 3, [index + 0x100]));
      return Array.from(
        written(glyphs).toUnicode.matchAll(/(\d+) beginbfchar\n((?:<\w+> <\w+>\n)+)endbfchar/g),
        ([, number, lines = '']) => {
          expect(lines.trim().split('\n')).toHaveLength(Number(number));
          return number ?? '';
        },
      );
    };
    expect([99, 100, 101, 201].map(counts)).toEqual([['99'], ['100'], ['100', '1'], ['100', '100', '1']]);
  });
});
