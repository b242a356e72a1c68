import { describe, expect, it } from 'vitest';
import { formFields } from '../../../../src/pdf/form-fields.ts';
import { objectText } from '../../../../src/pdf/object-text.ts';
import { isArray, PdfDictionary, PdfReference, PdfStream, type PdfObject } from '../../../../src/pdf/objects.ts';
import type { PdfFile } from '../../../../src/pdf/pdf-file.ts';
import { opened } from '../../../pdf/opened.ts';
import { smallPdf, type SmallPdf } from '../../../support/small-pdf.ts';
import { pngOf } from '../png.ts';
import { signPdf } from '../sign-pdf.ts';

const image = pngOf(60, 40, [10, 200, 30]);
const now = new Date('2026-11-24T14:04:05Z');
const placed = { absolute: true, x: 30, y: 50 };
const nothing = { renderNameVisible: false, renderDateVisible: false, renderLocationVisible: false };
const everything = { renderReasonVisible: true, renderLocationVisible: true, renderIdentifierVisible: true, renderLabelVisible: true };
const signedProperties = {
  ...{ commitmentTypeId: 'APPROVAL' },
  signatureProductionPlace: { city: 'Lyon', postalCode: '69001', countryCode: 'FR' },
};

/** An object with all that it refers to, but without streams of fonts and pictures. */
function described(file: PdfFile, object: PdfObject, depth = 0): string {
  const indent = '  '.repeat(depth);
  if (object instanceof PdfReference) return described(file, file.resolved(object), depth);
  if (isArray(object) && object.some((one) => one instanceof PdfReference || one instanceof PdfDictionary))
    return `[\n${object.map((one) => `${indent}  ${described(file, one, depth + 1)}\n`).join('')}${indent}]`;
  if (object instanceof PdfStream) {
    const entries = described(file, object.dictionary, depth);
    if (!isShown(object.dictionary)) return entries;
    return `${entries}\n${Buffer.from(contentOf(file, object)).toString('latin1')}`;
  }
  if (!(object instanceof PdfDictionary)) return objectText(object);
  const entries = object.entries().filter(([key]) => !['Length', 'Length1', 'FontName', 'BaseFont', 'P', 'Parent', 'V'].includes(key));
  return `<<\n${entries.map(([key, value]) => `${indent}  /${key} ${described(file, value, depth + 1)}\n`).join('')}${indent}>>`;
}

/** Contents of forms, and the text of fonts. */
function isShown(dictionary: PdfDictionary): boolean {
  return dictionary.has('BBox') || objectText(dictionary).startsWith('<</Filter /FlateDecode/Length');
}

function contentOf(file: PdfFile, stream: PdfStream): Uint8Array {
  const content = file.content(stream, 1_000_000);
  // Bits of CIDSet are not text.
  return content[0] === 0xff ? Buffer.from(Buffer.from(content).toString('hex')) : content;
}

/** The widget and its appearance in a signed PDF. */
function appearanceIn(visibleSignature: object, pdf: SmallPdf = {}, language: 'en' | 'fr' = 'en'): string {
  const signed = signPdf(
    smallPdf({ content: () => '', ...pdf }),
    { signedProperties, XP7Providers: { PXP7Parameters: { visibleSignature } } },
    { now, locale: { language, timeZone: 'Europe/Paris' } },
  );
  const file = opened(signed);
  const field = Array.from(formFields(file)).find(({ type }) => type === 'Sig');
  return `${described(file, field?.dictionary ?? null)}\n`;
}

describe('the appearance of a signature is drawn as it always was', () => {
  it.each<[string, object, SmallPdf, 'en' | 'fr']>([
    ['usual', { ...placed }, {}, 'en'],
    ['everything', { ...placed, ...everything, width: 300, height: 90, freeText: 'First\nSecond' }, {}, 'en'],
    ['in-french', { ...placed, ...everything, width: 300, height: 90 }, {}, 'fr'],
    ['picture', { ...placed, image, renderNameVisible: false, renderDateVisible: false, renderLocationVisible: false }, {}, 'en'],
    ['picture-and-text', { ...placed, image, width: 240, height: 60 }, { page: '/Rotate 90' }, 'en'],
    ['name-beside-text', { ...placed, renderName: true, width: 200, height: 50, fontColor: '804020' }, {}, 'en'],
    ['name-below-picture', { ...placed, renderName: true, image, fontStyle: 'UNDERLINE', fontSize: 9 }, {}, 'en'],
    ['struck', { ...placed, fontName: 'COURIER', fontStyle: 'STRIKETHROUGH', width: 90, height: 20 }, {}, 'en'],
    ['symbols', { ...placed, fontName: 'SYMBOL', freeText: 'abg', renderLabelVisible: true }, {}, 'en'],
    ['marks', { ...placed, freeText: '\u0639\u064e\u0628\u064f q\u0302\u0323 AV' }, {}, 'en'],
    ['large', { ...placed, renderName: true, width: 500, height: 400 }, {}, 'en'],
    ['tiny-text', { ...placed, renderName: true, width: 2, height: 2 }, {}, 'en'],
    ['name-alone', { ...placed, ...nothing, renderName: true, width: 120, height: 20 }, {}, 'en'],
    ['large-name-alone', { ...placed, ...nothing, renderName: true, width: 300, height: 100 }, {}, 'en'],
    ['labels-in-another-font', { ...placed, renderLabelVisible: true, fontName: 'TIMES_ROMAN' }, {}, 'en'],
    ['name-in-symbols', { ...placed, renderName: true, fontName: 'SYMBOL' }, {}, 'en'],
    ['of-one-weight', { ...placed, renderName: true, fontStyle: 'BOLD_ITALIC' }, {}, 'en'],
    ['narrow-picture', { ...placed, image: pngOf(4, 40, [10, 200, 30]), width: 240, height: 60 }, {}, 'en'],
    ['size-of-its-own', { ...placed, ...nothing, freeText: 'One Two Three', fontSize: 12, width: 84, height: 60 }, {}, 'en'],
    ['tiny', { ...placed, image, width: 4, height: 3 }, {}, 'en'],
  ])('%s', async (name, visibleSignature, pdf, language) => {
    await expect(appearanceIn(visibleSignature, pdf, language)).toMatchFileSnapshot(`drawn/${name}.txt`);
  });

  it('with fonts whose names say that they are parts of a font', () => {
    const signed = signPdf(smallPdf(), { XP7Providers: { PXP7Parameters: { visibleSignature: { ...placed, renderNameVisible: true } } } });
    const names = Array.from(signed.toString('latin1').matchAll(/\/(?:BaseFont|FontName) \/([^\s/]+)/g), ([, name]) => name ?? '');
    expect(names.filter((name) => name !== 'Helvetica')).toEqual(
      Array.from({ length: 6 }, () => expect.stringMatching(/^[A-Z]{6}\+(?:Arimo-Bold|Arimo-Regular)$/) as string),
    );
    expect(new Set(names).size).toBe(3);
  });

  it('with marks above and below their letters', () => {
    const text = appearanceIn({ ...placed, freeText: '\u0639\u064e\u0628\u064f q\u0302\u0323 AV' });
    expect(text).toMatch(/ Ts\n[^]* Ts\n[^]*\n0 Ts\n/);
  });

  it('with text that readers find and copy', () => {
    const text = appearanceIn({ ...placed, freeText: 'Zoé → ✓', renderNameVisible: false, renderDateVisible: false });
    for (const character of 'Zoé→✓') expect(text).toContain(`> <${character.charCodeAt(0).toString(16).padStart(4, '0')}>`);
  });
});
