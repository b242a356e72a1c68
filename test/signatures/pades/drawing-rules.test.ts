import { describe, expect, it } from 'vitest';
import { PdfDictionary, PdfReference, PdfStream, type PdfObject } from '../../../src/pdf/objects.ts';
import { Refusal } from '../../../src/result-codes.ts';
import { drawingRules, pictureOf, type DrawingRules } from '../../../src/signatures/pades/drawing-rules.ts';
import { jpegOf, pngOf } from '../../image/made-images.ts';
import { opened } from '../../pdf/opened.ts';
import { smallPdf } from '../../support/small-pdf.ts';
import { signPdfWith } from './sign-pdf.ts';

/** A file that says which part of PDF/A it follows, with or without an output intent. */
function pdfA(part: number, hasIntent = true): Buffer {
  const metadata = `<pdfaid:part>${part}</pdfaid:part>`;
  return smallPdf({
    catalog: `/Metadata 12 0 R ${hasIntent ? '/OutputIntents [<< /S /GTS_PDFA1 /DestOutputProfile 13 0 R >>]' : ''}`,
    objects: [`<< /Length ${metadata.length} >>\nstream\n${metadata}\nendstream`, '<< /Length 0 >>\nstream\n\nendstream'],
  });
}

const files: readonly (readonly [string, Buffer, boolean, boolean])[] = [
  ['no PDF/A', smallPdf(), false, false],
  ['PDF/A-1', pdfA(1), true, true],
  ['PDF/A-2', pdfA(2), false, true],
  ['PDF/A-3', pdfA(3), false, true],
  ['PDF/A-1 without an output intent', pdfA(1, false), true, true],
  ['PDF/A-2 without an output intent', pdfA(2, false), true, true],
];

describe('what a file demands of what is drawn in it', () => {
  it.each(files)('%s', (_, pdf, isFlat, isCalibrated) => {
    const rules = drawingRules(opened(pdf));
    expect([rules.isFlat, rules.colourSpaces !== undefined]).toEqual([isFlat, isCalibrated]);
  });

  it.each(files)('holds for the appearance of a signature: %s', (_, pdf, isFlat, isCalibrated) => {
    const image = pngOf({ width: 2, height: 1, bits: 8, colourType: 6, samples: [10, 20, 30, 128, 40, 50, 60, 255] }).toString('base64');
    const file = opened(signPdfWith(pdf, { visibleSignature: { image } }));
    const dictionaries = Array.from(file.crossReference.inUse(file.bytes.work), ([number, entry]): PdfObject =>
      entry.kind === 'FILE' ? file.object(new PdfReference(number, entry.generation)) : null,
    ).flatMap((object) => (object instanceof PdfStream ? [object.dictionary] : []));
    expect(dictionaries.some((one) => one.has('SMask'))).toBe(!isFlat);
    const spaces = dictionaries
      .map((one) => file.get(one, 'Resources'))
      .filter((one) => one instanceof PdfDictionary && one.has('ColorSpace'));
    expect(spaces.length > 0).toBe(isCalibrated);
  });
});

describe('an image of a request', () => {
  const calibrated: DrawingRules = { isFlat: false, colourSpaces: new PdfDictionary() };
  const free: DrawingRules = { isFlat: false, colourSpaces: undefined };
  const refusal = (bytes: Uint8Array, rules: DrawingRules): unknown => {
    try {
      return pictureOf(bytes, rules, '/image').colours.space;
    } catch (error) {
      return error instanceof Refusal ? [error.code, error.at] : error;
    }
  };

  it('may be in CMYK where device colours need no meaning', () => {
    const [cmyk, gray] = [jpegOf({ components: [200, 10, 20, 30] }), jpegOf({ components: [200] })];
    expect([refusal(cmyk, free), refusal(cmyk, calibrated), refusal(gray, calibrated)]).toEqual([
      'CMYK',
      ['UNSUPPORTED', '/image'],
      'GRAY',
    ]);
  });

  it('is refused where it cannot be read', () => {
    expect(refusal(Buffer.from('text'), free)).toEqual(['DOCUMENT_INVALID', '/image']);
  });
});
