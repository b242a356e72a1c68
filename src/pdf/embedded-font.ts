import { createHash } from 'node:crypto';
import { deflateSync } from 'node:zlib';
import type { Glyph, Subset } from 'fontkit';
import type { Typeface } from '../typefaces/typeface.ts';
import { PdfDictionary, PdfName, PdfStream, type PdfObject, type PdfReference, PdfString } from './objects.ts';
import type { Revision } from './revision.ts';

/** Bit 3 of Flags (ISO 32000-2, 9.8.2, table 121): glyphs are chosen by their number. */
const symbolicFlag = 4;
/**
 * Stems are of about this width; only substitutes of a font depend on it, and this one is embedded.
 */
const usualStem = 80;
/** Height of capital letters as a part of the ascent, of fonts that do not tell it. */
const capitalShare = 0.77;

/**
 * A typeface in a PDF, as a composite font (ISO 32000-2, 9.7) with the glyphs that are used. Their
 * codes have two bytes, the number of the glyph in the subset.
 */
export class EmbeddedFont {
  readonly reference: PdfReference;
  readonly #revision: Revision;
  readonly #typeface: Typeface;
  readonly #subset: Subset;
  readonly #glyphs = new Map<number, { readonly code: number; readonly glyph: Glyph }>();

  constructor(revision: Revision, typeface: Typeface) {
    this.#revision = revision;
    this.#typeface = typeface;
    this.#subset = typeface.font.createSubset();
    this.reference = revision.reserve();
  }

  /** Returns the code of a glyph in hexadecimal. */
  code(glyph: Glyph): string {
    const known = this.#glyphs.get(glyph.id);
    if (known !== undefined) return hex(known.code);
    this.#subset.includeGlyph(glyph);
    // The subset numbers its glyphs as they come, behind the one for missing characters.
    const code = this.#glyphs.size + 1;
    this.#glyphs.set(glyph.id, { code, glyph });
    return hex(code);
  }

  /** Width of a glyph by its font alone, in thousandths of the font size. */
  width(glyph: Glyph): number {
    return (glyph.advanceWidth * 1000) / this.#typeface.font.unitsPerEm;
  }

  /** Adds the font to the revision; no more glyphs can be used then. */
  write(): void {
    const { font } = this.#typeface;
    const revision = this.#revision;
    const file = this.#subset.encode();
    const used = Array.from(this.#glyphs.values());
    const name = new PdfName(`${tagOf(file)}+${this.#typeface.name}`);
    const scaled = (value: number): number => Math.round((value * 1000) / font.unitsPerEm);
    const { bbox, italicAngle, ascent, descent, capHeight } = font;
    const descriptor = PdfDictionary.of({
      ...{ Type: new PdfName('FontDescriptor'), FontName: name, Flags: symbolicFlag, StemV: usualStem },
      FontBBox: [bbox.minX, bbox.minY, bbox.maxX, bbox.maxY].map(scaled),
      ...{
        ItalicAngle: italicAngle,
        Ascent: scaled(ascent),
        Descent: scaled(descent),
        CapHeight: scaled(Number.isFinite(capHeight) ? capHeight : ascent * capitalShare),
      },
      FontFile2: revision.add(flate(file, { Length1: file.length })),
      // PDF/A-1 wants it, PDF/A-2 and 3 want it complete.
      CIDSet: revision.add(flate(allGlyphs(file), {})),
    });
    const descendant = PdfDictionary.of({
      ...{ Type: new PdfName('Font'), Subtype: new PdfName('CIDFontType2'), BaseFont: name },
      CIDSystemInfo: PdfDictionary.of({ Registry: latin('Adobe'), Ordering: latin('Identity'), Supplement: 0 }),
      FontDescriptor: revision.add(descriptor),
      W: used.flatMap(({ code, glyph }): PdfObject[] => [code, [round(this.width(glyph))]]),
      CIDToGIDMap: new PdfName('Identity'),
    });
    revision.set(
      this.reference,
      PdfDictionary.of({
        ...{ Type: new PdfName('Font'), Subtype: new PdfName('Type0'), BaseFont: name, Encoding: new PdfName('Identity-H') },
        DescendantFonts: [revision.add(descendant)],
        ToUnicode: revision.add(flate(Buffer.from(toUnicode(used)), {})),
      }),
    );
  }
}

function latin(text: string): PdfString {
  return new PdfString(Buffer.from(text, 'latin1'));
}

function flate(bytes: Uint8Array, entries: Readonly<Record<string, PdfObject>>): PdfStream {
  return new PdfStream(PdfDictionary.of({ ...entries, Filter: new PdfName('FlateDecode') }), deflateSync(bytes));
}

function hex(value: number): string {
  return value.toString(16).padStart(4, '0');
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}

/** Six letters that name a subset (9.9.2). */
function tagOf(file: Uint8Array): string {
  const digest = createHash('sha256').update(file).digest();
  return Array.from(digest.subarray(0, 6), (byte) => String.fromCharCode(65 + (byte % 26))).join('');
}

/** Returns a bit for each glyph of a font file, all set (9.8.3.2). */
function allGlyphs(file: Uint8Array): Uint8Array {
  const count = glyphCount(file);
  const bits = Buffer.alloc(Math.ceil(count / 8), 0xff);
  if (count % 8 !== 0) bits[bits.length - 1] = (0xff << (8 - (count % 8))) & 0xff;
  return bits;
}

/** Reads numGlyphs of the table maxp (OpenType 1.9). */
function glyphCount(file: Uint8Array): number {
  const bytes = Buffer.from(file.buffer, file.byteOffset, file.length);
  const tables = bytes.readUInt16BE(4);
  for (let at = 12; at < 12 + 16 * tables; at += 16)
    if (bytes.toString('latin1', at, at + 4) === 'maxp') return bytes.readUInt16BE(bytes.readUInt32BE(at + 8) + 4);
  throw new Error('a font file has a table maxp');
}

/**
 * Operators between `begin` and `end` are at most this many (9.7.5.4, as for CMaps in PostScript).
 */
const mappingsMax = 100;

/** Returns the CMap from codes to text (9.10.3). */
function toUnicode(used: readonly { readonly code: number; readonly glyph: Glyph }[]): string {
  const lines = used
    .filter(({ glyph }) => glyph.codePoints.length > 0)
    .map(({ code, glyph }) => {
      const text = Buffer.from(String.fromCodePoint(...glyph.codePoints), 'utf16le').swap16();
      return `<${hex(code)}> <${text.toString('hex')}>`;
    });
  const blocks: string[] = [];
  for (let at = 0; at < lines.length; at += mappingsMax) {
    const block = lines.slice(at, at + mappingsMax);
    blocks.push(`${block.length} beginbfchar\n${block.join('\n')}\nendbfchar`);
  }
  return [
    '/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap',
    '/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def',
    '/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def',
    '1 begincodespacerange\n<0000> <ffff>\nendcodespacerange',
    ...blocks,
    'endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend',
  ].join('\n');
}
