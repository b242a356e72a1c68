import { describe, expect, it } from 'vitest';
import { PdfDictionary, PdfName, PdfStream } from '../../../../src/pdf/objects.ts';
import { textString } from '../../../../src/pdf/text-string.ts';
import { smallPdf } from '../../../support/small-pdf.ts';
import { signPdf, signPdfWith } from '../sign-pdf.ts';
import { withForm } from './form-pdf.ts';
import { addAnnotation, changing, findingOf, painted, reference, refusalOf, revised, stamped, stream, withObjects } from './revised-pdf.ts';

const validationData = (pdf: Uint8Array): Buffer =>
  revised(pdf, (revision) => {
    const store = PdfDictionary.of({ Type: new PdfName('DSS'), Certs: [revision.add(stream('certificate'))] });
    changing(revision, revision.file.catalogReference, { DSS: revision.add(store) });
  });

const filled = (pdf: Uint8Array): Buffer =>
  revised(pdf, (revision) => {
    changing(revision, reference(12), { V: textString('250'), AP: PdfDictionary.of({ N: painted(revision) }) });
  });

describe('what may change after a signature', () => {
  it.each(['LEVEL_1', 'LEVEL_2', 'LEVEL_3'])('validation data and a document time-stamp, %s', async (docMDPLevel) => {
    const pdf = await stamped(validationData(await stamped(validationData(signPdfWith(smallPdf(), { docMDPLevel })))));
    expect(findingOf(pdf)).toBeUndefined();
  });

  it('validation data of several revisions, in the same objects', () => {
    const pdf = revised(validationData(signPdf(smallPdf())), (revision) => {
      const store = revision.resolved(revision.file.catalog.get('DSS'));
      const more = revision.add(new PdfStream(new PdfDictionary(), Buffer.from('list')));
      if (store instanceof PdfDictionary) changing(revision, revision.file.catalog.get('DSS'), { CRLs: [more] });
    });
    expect(findingOf(pdf)).toBeUndefined();
  });

  it('further signatures, visible and invisible', () => {
    let pdf: Buffer = smallPdf({ pages: 3 });
    for (let count = 0; count < 6; count += 1) {
      pdf = signPdf(pdf, {
        validateSignatures: true,
        XP7Providers: { PXP7Parameters: count % 2 === 0 ? {} : { visibleSignature: { pageSelection: 1 + (count % 3) } } },
      });
    }
    expect(findingOf(pdf)).toBeUndefined();
  });

  it.each(['LEVEL_2', 'LEVEL_3'])('a signature in a field that was there, and one in a new one, %s', (docMDPLevel) => {
    const certified = signPdfWith(withForm(), { docMDPLevel });
    const signed = signPdfWith(certified, { visibleSignature: { signatureField: 'Place' } });
    expect(findingOf(signPdf(signed, { validateSignatures: true }))).toBeUndefined();
  });

  it.each([{}, { visibleSignature: { signatureField: 'Place' } }])('a certification after a document time-stamp, %o', async (more) => {
    const certified = signPdfWith(await stamped(withForm()), { docMDPLevel: 'LEVEL_2', ...more });
    expect(findingOf(signPdf(certified, { validateSignatures: true }))).toBeUndefined();
  });

  it.each(['DEFAULT', 'ALL'])('a signature in a field that demands a lock, fieldsLock %s', (fieldsLock) => {
    const pdf = signPdf(withForm({ field: '/Lock << /Type /SigFieldLock /Action /Include /Fields [(Amount)] >>' }));
    const signed = signPdfWith(pdf, { visibleSignature: { signatureField: 'Place' }, fieldsLock });
    expect(findingOf(signPdf(signed, { validateSignatures: true }))).toBeUndefined();
  });

  it.each([
    ['approval', {}],
    ['certification, level 2', { docMDPLevel: 'LEVEL_2' }],
    ['certification, level 3', { docMDPLevel: 'LEVEL_3' }],
  ])('a field that is filled in: %s', (_, parameters) => {
    const pdf = filled(signPdfWith(withForm(), parameters));
    expect([findingOf(pdf), refusalOf(pdf)]).toEqual([undefined, undefined]);
  });

  it('a field that is filled in, whose appearance is written again under its number', () => {
    const pdf = revised(signPdf(withForm()), (revision) => {
      changing(revision, reference(12), { V: textString('250') });
      revision.set(
        reference(15),
        stream('0 0 9 9 re f', { Type: new PdfName('XObject'), Subtype: new PdfName('Form'), BBox: [0, 0, 150, 30] }),
      );
    });
    expect(findingOf(pdf)).toBeUndefined();
  });

  it.each([
    ['from PDFDocEncoding to UTF-16', '(Montant \\351)', '<FEFF004D006F006E00740061006E0074002000E9>'],
    ['from UTF-16 to PDFDocEncoding', '<FEFF004D006F006E00740061006E0074002000E9>', '(Montant \\351)'],
  ])('a field that is filled in, whose name is written in another encoding: %s', (_, was, is) => {
    const texts = (text: string): string => `/T ${text} /TU ${text} /DV ${text} /Opt [${text} [${text} ${text}]]`;
    const entries = '/Type /Annot /Subtype /Widget /FT /Tx /Rect [50 50 200 80] /P 4 0 R /F 4';
    const pdf = smallPdf({
      catalog: '/AcroForm 13 0 R',
      page: '/Annots [12 0 R]',
      objects: [`<< ${entries} ${texts(was)} >>`, '<< /Fields [12 0 R] >>'],
    });
    const written = (text: string): Buffer => withObjects(signPdf(pdf), { 12: `<< ${entries} ${texts(text)} /V (250) >>` });
    expect([findingOf(written(is)), findingOf(written('(Montant)'))]).toEqual([undefined, expect.stringContaining('T of the field')]);
  });

  it('a form that says that it needs no appearances, as one does that says nothing', () => {
    const pdf = revised(signPdf(withForm()), (revision) => changing(revision, reference(14), { NeedAppearances: false }));
    const again = revised(pdf, (revision) => changing(revision, reference(14), { NeedAppearances: undefined }));
    expect([findingOf(pdf), findingOf(again)]).toEqual([undefined, undefined]);
  });

  it('a comment, and its change, on level 3', () => {
    const commented = revised(signPdfWith(smallPdf(), { docMDPLevel: 'LEVEL_3' }), (revision) => {
      addAnnotation(revision, {
        Subtype: new PdfName('FreeText'),
        Contents: textString('Seen'),
        AP: PdfDictionary.of({ N: painted(revision) }),
      });
    });
    const number = Number(/\/Annots \[\d+ 0 R (\d+) 0 R\]/.exec(commented.toString('latin1'))?.[1]);
    const changed = revised(commented, (revision) => {
      changing(revision, reference(number), { Contents: textString('Seen twice') });
    });
    expect([findingOf(commented), findingOf(changed)]).toEqual([undefined, undefined]);
  });

  it('objects that are written again as they were, and metadata', () => {
    const pdf = revised(signPdf(smallPdf()), (revision) => {
      for (const number of [1, 2, 3, 4]) changing(revision, reference(number), {});
      revision.set(reference(5), stream('BT /F1 24 Tf 60 742 Td (Page 1) Tj ET'));
      changing(revision, reference(1), {
        Metadata: revision.add(stream('<x/>', { Type: new PdfName('Metadata'), Subtype: new PdfName('XML') })),
      });
    });
    expect(findingOf(pdf)).toBeUndefined();
  });

  it('objects to which nothing refers', () => {
    const pdf = revised(signPdf(smallPdf()), (revision) => {
      revision.add(stream('1 0 0 rg 0 0 600 800 re f'));
    });
    expect(findingOf(pdf)).toBeUndefined();
  });
});
