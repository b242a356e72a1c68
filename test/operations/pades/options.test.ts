import { beforeAll, describe, expect, it } from 'vitest';
import { call, codeOf, evidenceOf, messageOf, newKey, secretOf, type TestKey } from '../../support/api.ts';
import { pdfSignatures } from '../../support/pdf-judges.ts';
import { smallPdf } from '../../support/small-pdf.ts';

let key: TestKey;
beforeAll(async () => {
  key = await newKey('other');
});

const gif = 'R0lGODlhAQABAPAAAP8AAP///yH5BAAAAAAALAAAAAABAAEAAAICRAEAOw==';
/** A field `empty`, and one `locked` with a Lock; a text field and a push button. */
const form = smallPdf({
  pages: 2,
  catalog: '/AcroForm << /Fields [14 0 R 15 0 R 16 0 R 17 0 R] >>',
  page: '/Annots []',
  objects: [
    '<< /Type /Annot /Subtype /Widget /FT /Sig /T (empty) /Rect [50 50 250 130] /P 4 0 R >>',
    '<< /Type /Annot /Subtype /Widget /FT /Sig /T (locked) /Rect [50 50 250 130] /P 4 0 R /Lock << /Type /SigFieldLock /Action /All >> >>',
    '<< /Type /Annot /Subtype /Widget /FT /Tx /T (name) /Rect [50 50 250 130] /P 4 0 R >>',
    '<< /Type /Annot /Subtype /Widget /FT /Btn /Ff 65536 /T (photo) /Rect [50 50 250 130] /P 4 0 R >>',
  ],
});
const px = '/parameters/XP7Signature/XP7Providers/PXP7Parameters';
const content = '/parameters/XP7Signature/contentPreparation/PDFContent';

async function sign(xp7: object, pdf: Buffer, more: object = {}): ReturnType<typeof call> {
  return call('other', 'signature/sign', {
    keyReference: secretOf(key),
    parameters: { XP7Signature: { XP7Format: 'PXP_7', ...xp7 } },
    inputDocuments: [{ ID: 'contract', fileName: 'contract.pdf', base64Data: { base64Value: pdf.toString('base64') }, ...more }],
  });
}

const visible = (visibleSignature: object): object => ({ XP7Providers: { PXP7Parameters: { visibleSignature } } });
const onPages = (PDFContent: object): object => ({ contentPreparation: { PDFContent: { image: gif, ...PDFContent } } });
const parameters = (PXP7Parameters: object): object => ({ XP7Providers: { PXP7Parameters } });

describe('options of PXP_7 that are refused', () => {
  it.each([
    [visible({ absolute: true, x: 3 }), '1/103', `${px}/visibleSignature/y`],
    [visible({ absolute: true, y: 3 }), '1/103', `${px}/visibleSignature/x`],
    [visible({ paging: 'SELECTED_PAGE' }), '1/103', `${px}/visibleSignature/pageSelection`],
    [visible({ paging: 'SELECTED_PAGE', pageSelection: 3 }), '1/103', `${px}/visibleSignature/pageSelection`],
    [visible({ paging: 'SELECTED_PAGE', pageSelection: 0 }), '1/103', `${px}/visibleSignature/pageSelection`],
    [visible({ absolute: true, x: 500, y: 0 }), '1/103', `${px}/visibleSignature`],
    [visible({ absolute: true, x: -1, y: 0 }), '1/103', `${px}/visibleSignature`],
    [visible({ width: 0 }), '1/102', `${px}/visibleSignature/width`],
    [visible({ height: -4 }), '1/102', `${px}/visibleSignature/height`],
    [visible({ fontSize: 0 }), '1/102', `${px}/visibleSignature/fontSize`],
    [visible({ fontColor: 'red' }), '1/102', `${px}/visibleSignature/fontColor`],
    [visible({ fontName: 'ARIAL' }), '1/102', `${px}/visibleSignature/fontName`],
    [visible({ image: 'AAAA' }), '1/105', `${px}/visibleSignature/image`],
    [visible({ image: '?' }), '1/102', `${px}/visibleSignature/image`],
    [visible({ signatureField: 'nobody' }), '1/103', `${px}/visibleSignature/signatureField`],
    [visible({ signatureField: 'name' }), '1/103', `${px}/visibleSignature/signatureField`],
    [parameters({ fieldsLock: 'NEITHER', visibleSignature: { signatureField: 'locked' } }), '2/236', `${px}/fieldsLock`],
    [parameters({ documentLock: true, docMDPLevel: 'LEVEL_2' }), '1/103', `${px}/documentLock`],
    [
      { ...parameters({ signatureFormat: 'BASIC' }), timeStamp: { URLSource: 'SERVER' }, longTermValidation: {} },
      '1/104',
      `${px}/signatureFormat`,
    ],
    [{ signedProperties: { signingTime: { source: 'NONE' } } }, '1/103', '/parameters/XP7Signature/signedProperties/signingTime/source'],
    [onPages({ paging: 'SPECIFIED_PAGES' }), '1/103', `${content}/pageSelection`],
    [onPages({ paging: 'SPECIFIED_PAGES', pageSelection: '1;3' }), '1/103', `${content}/pageSelection`],
    [onPages({ paging: 'SPECIFIED_PAGES', pageSelection: '2-1' }), '1/102', `${content}/pageSelection`],
    [onPages({ paging: 'SPECIFIED_PAGES', pageSelection: 'all' }), '1/102', `${content}/pageSelection`],
    [onPages({ paging: 'PERIOD_PAGES', pagePeriod: 1 }), '1/103', `${content}/pageStart`],
    [onPages({ paging: 'PERIOD_PAGES', pageStart: 1 }), '1/103', `${content}/pagePeriod`],
    [onPages({ paging: 'PERIOD_PAGES', pageStart: 3, pagePeriod: 1 }), '1/103', `${content}/pageStart`],
    [onPages({ paging: 'PERIOD_PAGES', pageStart: 1, pagePeriod: 0 }), '1/102', `${content}/pagePeriod`],
    [onPages({ absolute: true, x: 595, y: 0 }), '1/103', content],
    [onPages({ formField: 'name' }), '1/103', `${content}/formField`],
    [onPages({ image: 'AAAA' }), '1/105', `${content}/image`],
  ])('%j is %s at %s', async (xp7, code, at) => {
    const answer = await sign(xp7, form);
    expect([codeOf(answer), messageOf(answer).split(': ')[0]]).toEqual([code, at]);
  });

  it.each([
    ['no PDF', Buffer.from('Hello'), '1/105'],
    ['an empty document', Buffer.alloc(0), '1/105'],
    ['bytes before the header', Buffer.concat([Buffer.from('junk\n'), form]), '1/105'],
    ['a file that ends too early', form.subarray(0, form.length - 200), '1/105'],
  ])('%s', async (_, pdf, code) => {
    const answer = await sign({}, pdf);
    expect(codeOf(answer)).toBe(code);
    expect(messageOf(answer)).toMatch(/^\/inputDocuments\/0: \S/);
  });
});

describe('signatures after signatures', () => {
  it('refuses what the first one does not allow', async () => {
    const signed = evidenceOf(await sign(parameters({ fieldsLock: 'ALL', visibleSignature: { signatureField: 'empty' } }), form));
    const again = await sign(visible({ signatureField: 'empty' }), signed);
    expect([codeOf(again), messageOf(again)]).toEqual(['1/103', `${px}/visibleSignature/signatureField: the field is signed already`]);
    expect(codeOf(await sign(visible({ signatureField: 'locked' }), signed))).toBe('2/236');
    expect(codeOf(await sign(parameters({ docMDPLevel: 'LEVEL_3' }), signed))).toBe('2/236');
    expect(codeOf(await sign(onPages({}), signed))).toBe('2/236');
    expect(codeOf(await sign(visible({}), signed))).toBe('0/0');
  });

  it.each([{ docMDPLevel: 'LEVEL_1' }, { documentLock: true }])('refuses everything after %j', async (first) => {
    const signed = evidenceOf(await sign(parameters(first), form));
    const again = await sign({}, signed);
    expect([codeOf(again), messageOf(again)]).toEqual([
      '2/236',
      '/inputDocuments/0: an earlier signature allows no changes of the document (DocMDP level 1)',
    ]);
  });

  it('refuses everything after a second signature that locks the document', async () => {
    const first = evidenceOf(await sign({}, form));
    const second = evidenceOf(await sign(parameters({ documentLock: true }), first));
    expect(pdfSignatures(second).map(({ validation }) => validation)).toEqual(['Signature is Valid.', 'Signature is Valid.']);
    expect(codeOf(await sign({}, second))).toBe('2/236');
  });
});
