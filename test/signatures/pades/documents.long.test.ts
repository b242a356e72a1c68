import { spawnSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../src/asn1/byte-source.ts';
import { PdfFile } from '../../../src/pdf/pdf-file.ts';
import { signatureFields } from '../../../src/signatures/pades/signed-fields.ts';
import { archivalPdf } from '../../conformance/archival-pdf.ts';
import { madePdf, revised, usualObjects } from '../../pdf/made-pdf.ts';
import { qpdf } from '../../pdf/qpdf.ts';
import { pdfSignatures, qpdfFindings } from '../../support/pdf-judges.ts';
import { skipNote } from '../../support/skip-note.ts';
import { softwareSigner } from '../software-signer.ts';
import { signPdfWith, type SigningOptions } from './sign-pdf.ts';

const table = madePdf(usualObjects());

/** Documents by how they are written. */
const documents: Readonly<Record<string, Buffer>> = {
  'a table': table,
  'a cross-reference stream': madePdf(usualObjects(), { shape: 'STREAM' }),
  'object streams': madePdf(usualObjects(), { shape: 'OBJECT_STREAMS', isCompressed: true }),
  'a table and a stream': madePdf(usualObjects(), { shape: 'HYBRID', outside: [1, 2, 3, 9, 10] }),
  'PDF 2.0': madePdf(usualObjects(), { shape: 'STREAM', version: '2.0', trailer: '/ID [<01> <02>]' }),
  'PDF 1.2': madePdf(usualObjects(), { version: '1.2' }),
  'no form and no fields': madePdf({ ...usualObjects(), 1: '<</Type /Catalog /Pages 2 0 R>>' }),
  'a form in the catalog': madePdf({ ...usualObjects(), 1: '<</Type /Catalog /Pages 2 0 R /AcroForm <</Fields []>>>>' }),
  'lists in objects of their own': madePdf({
    ...usualObjects(),
    3: '<</Type /Page /Parent 2 0 R /Contents 7 0 R /Annots 17 0 R>>',
    9: '<</Fields 18 0 R>>',
    17: '[10 0 R 12 0 R]',
    18: '[10 0 R 11 0 R]',
  }),
  'several revisions': revised(revised(table, { 15: '<</Title (Another)>>' }), { 17: '(new)' }, { shape: 'TABLE' }),
  'no line end behind its end': Buffer.from(table.toString('latin1').trimEnd(), 'latin1'),
  'PDF/A-1b': archivalPdf(1),
  'PDF/A-2b': archivalPdf(2),
};

const noQpdf = spawnSync('qpdf', ['--version']).status === 0 ? undefined : 'qpdf is not installed';
const passwords = ['lecteur', 'auteur'];

/** What a signed file must be, whatever it was. */
function judged(before: Buffer, signed: Buffer, count = 1, password?: string): void {
  expect(signed.subarray(0, before.length).equals(before)).toBe(true);
  expect(qpdfFindings(signed, password)).toEqual([]);
  const signatures = pdfSignatures(signed, password);
  expect(signatures.map(({ validation }) => validation)).toEqual(Array.from({ length: count }, () => 'Signature is Valid.'));
  expect(signatures.filter(({ coversAll }) => coversAll)).toHaveLength(1);
}

const options = [{}, { signatureFormat: 'BASIC' }, { docMDPLevel: 'LEVEL_2', visibleSignature: {} }, { documentLock: true }];
const formats = { ENHANCED: 'ETSI.CAdES.detached', BASIC: 'adbe.pkcs7.detached' } as const;

describe('a signature', () => {
  it.each(Object.keys(documents))('is appended to a document with %s', (name) => {
    const pdf = documents[name] ?? Buffer.alloc(0);
    for (const parameters of options) judged(pdf, signPdfWith(pdf, parameters));
  });

  it.skipIf(noQpdf !== undefined)(`is appended to a linearised document${skipNote(noQpdf)}`, () => {
    for (const mode of ['disable', 'generate']) {
      const pdf = qpdf(table, ['--linearize', `--object-streams=${mode}`]);
      for (const parameters of options) judged(pdf, signPdfWith(pdf, parameters));
    }
  });

  it.each(Object.entries(formats))('of the format %s says that it is one', (signatureFormat, type) => {
    expect(pdfSignatures(signPdfWith(table, { signatureFormat }))).toMatchObject([{ type }]);
  });

  it.each(['a table', 'a cross-reference stream', 'object streams', 'a table and a stream', 'PDF 2.0'])(
    'after signatures by others leaves them valid: %s',
    (name) => {
      const signer = softwareSigner('Another signer', 'rsa');
      const steps: readonly (readonly [object, SigningOptions])[] = [
        [{ docMDPLevel: 'LEVEL_2' }, {}],
        [{ signatureFormat: 'BASIC' }, { signer }],
        [{ visibleSignature: { signatureField: 'seals.1' } }, {}],
        [{ documentLock: true }, { signer }],
      ];
      let pdf = documents[name] ?? Buffer.alloc(0);
      for (const [index, [parameters, by]] of steps.entries()) {
        const next = signPdfWith(pdf, { ...parameters }, by);
        judged(pdf, next, index + 1);
        pdf = next;
      }
      const fields = signatureFields(new PdfFile(bytesInMemory(pdf))).filter(({ signature }) => signature !== undefined);
      expect(fields.map(({ name: fieldName }) => fieldName).toSorted()).toEqual(['Signature1', 'Signature2', 'Signature3', 'seals.1']);
    },
  );

  it('gets a name that no field has', () => {
    const taken = madePdf({
      ...usualObjects(),
      10: '<</T (Signature1) /FT /Tx /Kids [17 0 R]>>',
      17: '<</Parent 10 0 R /T (Signature2)>>',
    });
    const names = signatureFields(new PdfFile(bytesInMemory(signPdfWith(taken, {})))).map(({ name }) => name);
    expect(names).toEqual(['seals.1', 'Signature2']);
  });

  it('of a version before 2.0 declares the extension of the standard, once', () => {
    const count = (pdf: Uint8Array): number => Buffer.from(pdf).toString('latin1').split('/ESIC').length - 1;
    const once = signPdfWith(table, {});
    expect([count(once), count(signPdfWith(table, { signatureFormat: 'BASIC' }))]).toEqual([1, 0]);
    expect(count(signPdfWith(documents['PDF 2.0'] ?? table, {}))).toBe(0);
    const file = new PdfFile(bytesInMemory(signPdfWith(once, {})));
    expect(file.dictionary(file.catalog.get('Extensions'), 'the extensions').keys()).toEqual(['ESIC']);
  });
});

describe.skipIf(noQpdf !== undefined)(`a signature of an encrypted document${skipNote(noQpdf)}`, () => {
  const methods: readonly (readonly [string, readonly string[]])[] = [
    ['revision 2', ['40']],
    ['revision 3', ['128', '--use-aes=n']],
    ['revision 4, RC4', ['128', '--force-V4', '--use-aes=n']],
    ['revision 4, AES', ['128', '--use-aes=y']],
    ['revision 4, with readable metadata', ['128', '--use-aes=y', '--cleartext-metadata']],
    ['revision 5', ['256', '--force-R5']],
    ['revision 6', ['256']],
  ];
  const encrypted = (pdf: Buffer, words: readonly string[], method: readonly string[]): Buffer =>
    qpdf(pdf, ['--allow-weak-crypto', '--encrypt', ...words, ...method, '--']);

  it.each(methods)('is made with both passwords: %s', (_, method) => {
    for (const pdf of [encrypted(table, passwords, method), encrypted(archivalPdf(2), passwords, method)])
      for (const password of passwords) {
        const signed = signPdfWith(pdf, { visibleSignature: {} }, { password });
        judged(pdf, signed, 1, 'lecteur');
        judged(signed, signPdfWith(signed, {}, { password }), 2, 'lecteur');
      }
  });

  it.each(methods)('is made without a password where a reader needs none: %s', (_, method) => {
    const pdf = encrypted(table, ['', 'auteur'], method);
    judged(pdf, signPdfWith(pdf, {}));
  });

  it('has encrypted words, but readable contents', () => {
    const pdf = encrypted(table, passwords, ['256']);
    const signed = signPdfWith(pdf, { signatureFormat: 'BASIC' }, { password: 'lecteur' });
    const revision = signed.subarray(pdf.length).toString('latin1');
    expect(revision).not.toContain('(D:2');
    expect(revision).toMatch(/\/Contents <30(?:82|80|81)/);
  });
});
