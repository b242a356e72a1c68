import { readFileSync } from 'node:fs';
import { create, type Font } from 'fontkit';
import { madePdf } from '../pdf/made-pdf.ts';

/** Numbers and strings of an ICC profile in big-endian order. */
function icc(...parts: readonly (number | string)[]): Buffer {
  return Buffer.concat(
    parts.map((part) => {
      if (typeof part === 'string') return Buffer.from(part, 'latin1');
      const bytes = Buffer.alloc(4);
      bytes.writeInt32BE(part);
      return bytes;
    }),
  );
}

const fixed = (value: number): number => Math.round(value * 65_536);
const xyz = (x: number, y: number, z: number): Buffer => icc('XYZ ', 0, fixed(x), fixed(y), fixed(z));

/** Returns an ICC profile (ICC.1:2001-04) with the primaries of sRGB and a gamma of 2.2. */
function srgbProfile(): Buffer {
  const name = 'sRGB, gamma 2.2\0';
  const gamma = Buffer.concat([icc('curv', 0, 1), Buffer.from([2, 51])]);
  const tags: readonly (readonly [string, Buffer])[] = [
    ['desc', Buffer.concat([icc('desc', 0, name.length, name), Buffer.alloc(78)])],
    ['cprt', icc('text', 0, 'No copyright\0')],
    ['wtpt', xyz(0.9642, 1, 0.8249)],
    ['rXYZ', xyz(0.436, 0.2225, 0.0139)],
    ['gXYZ', xyz(0.3851, 0.7169, 0.0971)],
    ['bXYZ', xyz(0.1431, 0.0606, 0.7139)],
    ['rTRC', gamma],
    ['gTRC', gamma],
    ['bTRC', gamma],
  ];
  let offset = 128 + 4 + tags.length * 12;
  const table = [icc(tags.length)];
  const data: Buffer[] = [];
  for (const [signature, bytes] of tags) {
    const padded = Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
    table.push(icc(signature, offset, bytes.length));
    data.push(padded);
    offset += padded.length;
  }
  const created = Buffer.from([2026, 1, 1, 0, 0, 0].flatMap((part) => [part >> 8, part & 0xff]));
  const head = [
    ...[icc(offset, 0, 0x02_10_00_00, 'mntrRGB XYZ '), created, icc('acsp', 0, 0, 0, 0, 0, 0, 0)],
    ...[icc(fixed(0.9642), fixed(1), fixed(0.8249)), Buffer.alloc(48)],
  ];
  return Buffer.concat([...head, ...table, ...data]);
}

function metadata(part: 1 | 2 | 3): string {
  return `<?xpacket begin="\xef\xbb\xbf" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:pdfaid="http://www.aiim.org/pdfa/ns/id/"><pdfaid:part>${part}</pdfaid:part><pdfaid:conformance>B</pdfaid:conformance></rdf:Description>
</rdf:RDF></x:xmpmeta>
<?xpacket end="w"?>`;
}

/** A text in a subset of a font: the file of the subset, the codes, and the widths in thousandths. */
function subsetOf(text: string): { readonly file: Uint8Array; readonly codes: string; readonly widths: readonly number[] } {
  const path = new URL('../../node_modules/@expo-google-fonts/tinos/400Regular/Tinos_400Regular.ttf', import.meta.url);
  const font = create(readFileSync(path)) as Font;
  const subset = font.createSubset();
  const glyphs = [...new Map(font.layout(text).glyphs.map((glyph) => [glyph.id, glyph])).values()];
  const codes = new Map(glyphs.map((glyph) => [glyph.id, subset.includeGlyph(glyph)]));
  const shown = font.layout(text).glyphs.map(({ id }) => (codes.get(id) ?? 0).toString(16).padStart(4, '0'));
  const widths = glyphs.map(({ advanceWidth }) => Math.round((advanceWidth * 1000) / font.unitsPerEm));
  return { file: subset.encode(), codes: shown.join(''), widths };
}

/** Returns a page of text in PDF/A-1b, 2b or 3b (ISO 19005), with an sRGB output intent. */
export function archivalPdf(part: 1 | 2 | 3): Buffer {
  const { file, codes, widths } = subsetOf('Lu et approuvé');
  const content = `BT /F1 24 Tf 72 700 Td 0.1 0.2 0.5 rg <${codes}> Tj ET`;
  const name = 'ABCDEF+Tinos-Regular';
  const bytes = (text: string): Uint8Array => Buffer.from(text, 'latin1');
  const all = Buffer.alloc((widths.length >> 3) + 1);
  for (let code = 0; code <= widths.length; code += 1) all[code >> 3] = (all[code >> 3] ?? 0) | (0x80 >> (code & 7));
  return madePdf(
    {
      1: '<</Type /Catalog /Pages 2 0 R /Metadata 8 0 R /OutputIntents [9 0 R]>>',
      2: '<</Type /Pages /Kids [3 0 R] /Count 1>>',
      3: '<</Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R /Resources <</Font <</F1 5 0 R>>>>>>',
      4: { entries: '', bytes: bytes(content) },
      5: `<</Type /Font /Subtype /Type0 /BaseFont /${name} /Encoding /Identity-H /DescendantFonts [6 0 R]>>`,
      6: `<</Type /Font /Subtype /CIDFontType2 /BaseFont /${name} /CIDSystemInfo <</Registry (Adobe) /Ordering (Identity) /Supplement 0>> /FontDescriptor 7 0 R /W [1 [${widths.join(' ')}]] /CIDToGIDMap /Identity>>`,
      7: `<</Type /FontDescriptor /FontName /${name} /Flags 4 /FontBBox [-200 -300 1100 1000] /ItalicAngle 0 /Ascent 891 /Descent -216 /CapHeight 662 /StemV 80 /FontFile2 11 0 R${part === 1 ? ' /CIDSet 12 0 R' : ''}>>`,
      8: { entries: '/Type /Metadata /Subtype /XML', bytes: bytes(metadata(part)) },
      9: '<</Type /OutputIntent /S /GTS_PDFA1 /OutputConditionIdentifier (sRGB) /Info (sRGB) /DestOutputProfile 10 0 R>>',
      10: { entries: '/N 3', bytes: srgbProfile() },
      11: { entries: `/Length1 ${file.length}`, bytes: file },
      // PDF/A-1 demands the set of glyphs, the later parts do not.
      12: { entries: '', bytes: all },
    },
    { version: part === 1 ? '1.4' : '1.7', trailer: '/ID [<0123456789ABCDEF> <0123456789ABCDEF>]' },
  );
}
