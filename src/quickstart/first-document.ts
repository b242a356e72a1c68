import { bytesInMemory } from '../asn1/byte-source.ts';
import { blankFile } from '../pdf/blank-file.ts';
import { Drawing, type Colour } from '../pdf/drawing.ts';
import { PdfDictionary, PdfStream } from '../pdf/objects.ts';
import { pages } from '../pdf/pages.ts';
import { PdfFile } from '../pdf/pdf-file.ts';
import { Revision } from '../pdf/revision.ts';
import { BreakableText } from '../typefaces/breakable-text.ts';
import { shapedLine } from '../typefaces/shaped-line.ts';
import { typefaces } from '../typefaces/typeface.ts';

/** A4, in 1/72 inch. */
const page = { width: 595, height: 842 };
const margin = 72;
const ink: Colour = { red: 0.08, green: 0.13, blue: 0.24 };
const pale: Colour = { red: 0.55, green: 0.58, blue: 0.64 };
const regular = typefaces('SANS', { isBold: false, isItalic: false });
const bold = typefaces('SANS', { isBold: true, isItalic: false });

const paragraphs = [
  'The signature below was made by signetd. Its private key was generated on the token and has never left it; the token also checked the password of the key before it signed.',
  'The PDF that was signed is unchanged: the signature was appended to it, and covers every byte. Open the signature panel of a PDF reader to see the certificate and what the signature covers. The reader will not know the certificate authority, since the quickstart has made one of its own: trust var/quickstart/pki/root.pem, in the reader, and only for trials.',
  'To sign a document of your own, see “The first signature by hand” in README.md. All options of a visible signature, with pictures, are in docs/pades.md.',
];

/** Place of the visible signature, as the interface wants it: from the lower right corner. */
export const signaturePlace = { absolute: true, x: page.width - margin - 290, y: 300, width: 290, height: 90 } as const;

/** Returns the page that the quickstart signs, as a PDF. */
export function firstDocument(): Uint8Array {
  const blank = blankFile(page);
  const file = new PdfFile(bytesInMemory(blank), undefined);
  const revision = new Revision(file);
  const drawing = new Drawing(revision);
  const write = (text: string, y: number, fontSize: number, colour: Colour, faces = regular): void => {
    drawing.text({ line: shapedLine(text, faces), x: margin, y, fontSize, colour });
  };
  write('signetd', page.height - 84, 11, pale, bold);
  drawing.rectangle({ x: margin, y: page.height - 96, width: page.width - 2 * margin, height: 0.75 }, pale);
  write('A first signature', page.height - 150, 28, ink, bold);
  let y = page.height - 190;
  const fontSize = 11;
  for (const paragraph of paragraphs) {
    for (const line of new BreakableText(paragraph, regular).broken(((page.width - 2 * margin) / fontSize) * 1000).lines) {
      write(line, y, fontSize, ink);
      y -= fontSize * 1.5;
    }
    y -= fontSize * 0.7;
  }
  write('Signed with the key of the quickstart', signaturePlace.y + signaturePlace.height + 16, 8, pale);
  const form = revision.add(drawing.form({ BBox: [0, 0, page.width, page.height] }, undefined));
  const [only] = pages(file);
  if (only === undefined) throw new Error('a blank file has a page');
  revision.set(
    only.reference,
    only.dictionary.with({
      Resources: PdfDictionary.of({ XObject: PdfDictionary.of({ Page: form }) }),
      Contents: revision.add(new PdfStream(new PdfDictionary(), Buffer.from('/Page Do'))),
    }),
  );
  return Buffer.concat([blank, revision.write().bytes]);
}
