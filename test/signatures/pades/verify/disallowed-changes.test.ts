import { describe, expect, it } from 'vitest';
import { isArray, PdfDictionary, PdfName, type PdfObject } from '../../../../src/pdf/objects.ts';
import type { Revision } from '../../../../src/pdf/revision.ts';
import { textString } from '../../../../src/pdf/text-string.ts';
import { smallPdf } from '../../../support/small-pdf.ts';
import { signPdf, signPdfWith } from '../sign-pdf.ts';
import { withForm } from './form-pdf.ts';
import {
  addAnnotation,
  addToForm,
  appendTo,
  changing,
  findingOf,
  firstPage,
  painted,
  reference,
  refusalOf,
  revised,
  stamped,
  stream,
} from './revised-pdf.ts';

type Change = (revision: Revision) => void;

const name = (text: string): PdfName => new PdfName(text);
const catalog =
  (entries: Readonly<Record<string, PdfObject>>): Change =>
  (revision) =>
    changing(revision, revision.file.catalogReference, entries);
const signatureNumber = ({ file }: Revision): number => {
  const text = file.bytes.at(0, file.bytes.length).toString('latin1');
  return Number(/(\d+) 0 obj\n<<\/Type \/(?:Sig|DocTimeStamp)\//.exec(text)?.[1]);
};
const text = stream('BT /F1 24 Tf 60 600 Td (PAY 999999) Tj ET');

/** Object 12: a link; 13: another page content, to which nothing refers; 14: the contents of the page as an array. */
const document = smallPdf({
  pages: 1,
  catalog: '/Version /1.7',
  page: '/Annots [12 0 R] /Group 14 0 R',
  objects: [
    '<< /Type /Annot /Subtype /Link /Rect [0 0 100 100] /A << /S /URI /URI (https://example.org) >> >>',
    '<< /Length 8 >>\nstream\nq 1 g Q \nendstream',
    '<< /S /Transparency >>',
  ],
});

const changes: readonly (readonly [string, Change])[] = [
  ['an overlay on the page', (revision) => changing(revision, firstPage(revision), { Contents: [reference(5), revision.add(text)] })],
  ['other content under its number', (revision) => revision.set(reference(5), text)],
  ['another font under its number', (revision) => changing(revision, reference(3), { BaseFont: name('Courier') })],
  ['other resources of the page', (revision) => changing(revision, firstPage(revision), { Resources: new PdfDictionary() })],
  ['another size of the page', (revision) => changing(revision, firstPage(revision), { CropBox: [0, 0, 10, 10] })],
  ['a change of an object that a page has', (revision) => changing(revision, reference(14), { I: true })],
  ['an object that is gone', (revision) => revision.set(reference(14), null)],
  [
    'a page more',
    (revision) => appendTo(revision, reference(2), 'Kids', revision.add(PdfDictionary.of({ Type: name('Page'), Parent: reference(2) }))),
  ],
  ['another page tree', (revision) => catalog({ Pages: revision.add(revision.resolved(reference(2))) })(revision)],
  [
    'a picture as an annotation',
    (revision) => void addAnnotation(revision, { Subtype: name('Stamp'), AP: PdfDictionary.of({ N: painted(revision) }) }),
  ],
  [
    'an annotation with a text',
    (revision) => void addAnnotation(revision, { Subtype: name('FreeText'), Contents: textString('PAY 999999') }),
  ],
  ['an annotation that is gone', (revision) => changing(revision, firstPage(revision), { Annots: [] })],
  [
    'another target of a link',
    (revision) => changing(revision, reference(12), { A: PdfDictionary.of({ S: name('Named'), N: name('Print') }) }),
  ],
  ['an action on opening', catalog({ OpenAction: PdfDictionary.of({ S: name('JavaScript'), JS: textString('app.alert(1)') }) })],
  ['further actions', catalog({ AA: new PdfDictionary() })],
  ['layers', catalog({ OCProperties: new PdfDictionary() })],
  ['names', catalog({ Names: new PdfDictionary() })],
  ['another language', catalog({ Lang: textString('fr') })],
  ['a lower version', catalog({ Version: name('1.4') })],
  [
    'a text field',
    (revision) => addToForm(revision, addAnnotation(revision, { Subtype: name('Widget'), FT: name('Tx'), T: textString('New') })),
  ],
  [
    'a signature field without a signature',
    (revision) => addToForm(revision, addAnnotation(revision, { Subtype: name('Widget'), FT: name('Sig'), T: textString('New') })),
  ],
  [
    'another signature dictionary',
    (revision) => changing(revision, reference(signatureNumber(revision)), { Reason: textString('Another one') }),
  ],
];

describe('what may not change after a signature', () => {
  it.each(changes)('%s', (_, change) => {
    const pdf = revised(signPdf(document), change);
    const finding = findingOf(pdf);
    expect(finding).toMatch(/^\/inputDocuments\/0: the signature "Signature1" of the document /);
    expect(refusalOf(pdf)).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it.each(['__proto__', 'constructor', 'toString', 'valueOf'])('an entry of the catalog of the name %s', (key) => {
    const signed = signPdf(smallPdf({ catalog: `/${key} 5` }));
    const version = revised(signed, catalog({ Version: name('2.0') }));
    expect([findingOf(signed), findingOf(version)]).toEqual([undefined, undefined]);
    const other = revised(signed, (revision) => {
      const entries = revision.file.catalog.entries().filter(([one]) => one !== key);
      revision.set(reference(1), new PdfDictionary([...entries, [key, 6]]));
    });
    expect(findingOf(other)).toContain(`${key} of the catalog`);
  });

  it('is signed again all the same where nobody asks for the earlier signatures', () => {
    const pdf = revised(signPdf(document), (revision) => revision.set(reference(5), text));
    expect(signPdf(pdf).subarray(0, pdf.length).equals(pdf)).toBe(true);
  });

  it.each(changes)('nor after a document time-stamp: %s', async (_, change) => {
    expect(findingOf(revised(await stamped(document), change))).toBeDefined();
  });
});

/** Changes of `withForm`. */
const formChanges: readonly (readonly [string, Change])[] = [
  [
    'an appearance that shows another value',
    (revision) => changing(revision, reference(12), { AP: PdfDictionary.of({ N: painted(revision) }) }),
  ],
  ['an appearance under its number', (revision) => revision.set(reference(15), stream('0 0 9 9 re f'))],
  ['a field at another place', (revision) => changing(revision, reference(12), { Rect: [0, 0, 600, 800], V: textString('5') })],
  ['chosen items of a field that is no choice', (revision) => changing(revision, reference(12), { V: textString('5'), I: [0] })],
  ['a hidden field', (revision) => changing(revision, reference(12), { F: 2 })],
  ['an action of a field', (revision) => changing(revision, reference(12), { V: textString('5'), AA: new PdfDictionary() })],
  ['a renamed field', (revision) => changing(revision, reference(12), { T: textString('Sum') })],
  [
    'a field that is gone',
    (revision) => {
      const form = revision.resolved(reference(14));
      const fields = form instanceof PdfDictionary ? revision.get(form, 'Fields') : null;
      changing(revision, reference(14), { Fields: isArray(fields) ? fields.slice(1) : [] });
    },
  ],
  ['NeedAppearances', (revision) => changing(revision, reference(14), { NeedAppearances: true })],
  ['XFA', (revision) => changing(revision, reference(14), { XFA: revision.add(stream('<xdp/>')) })],
  ['resources of the form', (revision) => changing(revision, reference(14), { DR: new PdfDictionary() })],
  [
    'an appearance of a signature field that is not signed',
    (revision) => changing(revision, reference(13), { AP: PdfDictionary.of({ N: painted(revision) }) }),
  ],
];

describe('what may not change in a form', () => {
  it.each(formChanges)('%s', (_, change) => {
    const pdf = revised(signPdf(withForm()), change);
    expect([findingOf(pdf) === undefined, refusalOf(pdf)]).toEqual([false, 'EXISTING_SIGNATURE_INVALID']);
  });

  const fill: Change = (revision) => changing(revision, reference(12), { V: textString('999999') });
  it('a field that is filled in on level 1', () => {
    expect(findingOf(revised(signPdfWith(withForm(), { docMDPLevel: 'LEVEL_1' }), fill))).toContain('no changes are allowed');
  });

  it.each([
    ['All', ''],
    ['Include', '/Fields [(Amount)]'],
    ['Exclude', '/Fields [(Other)]'],
  ])('a field that is locked by the field of a signature: %s', (action, fields) => {
    const pdf = withForm({ field: `/Lock << /Type /SigFieldLock /Action /${action} ${fields} >>` });
    expect(findingOf(revised(signPdfWith(pdf, { visibleSignature: { signatureField: 'Place' } }), fill))).toContain(
      'the locked field "Amount"',
    );
  });

  it.each([
    ['the field that has it', 'Include', '(group)', true],
    ['the field itself', 'Include', '(group.sum)', true],
    ['another field whose name begins alike', 'Include', '(gro)', false],
    ['all but the field that has it', 'Exclude', '(group)', false],
    ['all but another one', 'Exclude', '(other)', true],
  ])('a field in another field, where the signature locks %s', (_, action, names, isLocked) => {
    const pdf = smallPdf({
      catalog: '/AcroForm << /Fields [12 0 R 14 0 R] >>',
      page: '/Annots [13 0 R 14 0 R]',
      objects: [
        '<< /T (group) /FT /Tx /Kids [13 0 R] >>',
        '<< /Type /Annot /Subtype /Widget /T (sum) /Parent 12 0 R /V (1) /Rect [0 0 9 9] /P 4 0 R >>',
        `<< /Type /Annot /Subtype /Widget /FT /Sig /T (Place) /Rect [9 9 90 90] /P 4 0 R /Lock << /Action /${action} /Fields [${names}] >> >>`,
      ],
    });
    const signed = signPdfWith(pdf, { visibleSignature: { signatureField: 'Place' } });
    const finding = findingOf(revised(signed, (revision) => changing(revision, reference(13), { V: textString('999999') })));
    if (isLocked) expect(finding).toContain('the locked field "group.sum"');
    else expect(finding).toBeUndefined();
  });

  it('a field that an earlier signature locked, after a later one', () => {
    const pdf = withForm({ field: '/Lock << /Type /SigFieldLock /Action /All >>' });
    const locked = signPdfWith(pdf, { visibleSignature: { signatureField: 'Place' } });
    expect(findingOf(revised(signPdf(locked), fill))).toContain('the locked field "Amount"');
  });
});

describe('an image on a page', () => {
  it('is refused after a document time-stamp, as after any signature', async () => {
    const pdf = await stamped(smallPdf());
    const image = { image: 'R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', absolute: true, x: 10, y: 10 };
    expect(() => signPdf(pdf, { contentPreparation: { PDFContent: image } })).toThrow('signed already');
  });
});
