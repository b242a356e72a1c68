import { describe, expect, it } from 'vitest';
import type { PdfFile } from '../../../src/pdf/pdf-file.ts';
import { Refusal } from '../../../src/result-codes.ts';
import type { PadesParameters } from '../../../src/signatures/pades/pades-state.ts';
import { permitted, type Permitted } from '../../../src/signatures/pades/permitted-signature.ts';
import { usualProperties } from '../../../src/signatures/request/signed-properties.ts';
import { opened } from '../../pdf/opened.ts';
import { encryptedPdf } from '../../support/encrypted-pdf.ts';
import { smallPdf } from '../../support/small-pdf.ts';
import { signPdfWith } from './sign-pdf.ts';
import { changing, reference, revised } from './verify/revised-pdf.ts';

/** A file with these fields, from object 12 on. */
const pdfWith = (...fields: readonly string[]): Buffer =>
  smallPdf({
    catalog: `/AcroForm << /Fields [${fields.map((_, index) => `${12 + index} 0 R`).join(' ')}] >>`,
    objects: fields.map((entries) => `<< /FT /Sig ${entries} >>`),
  });
const algorithm = { scheme: 'ECDSA', hash: 'sha256' };
const usual = { algorithm, properties: usualProperties, level: 'B', locksDocument: false, isBasic: false, at: '/px' };
const allowed = (file: PdfFile, asked: object = {}): Permitted =>
  permitted(file, { ...usual, ...asked } as unknown as PadesParameters, '/document');

/** Place and words of a refusal; undefined if there is none. */
function refusalOf(file: PdfFile, asked: object): unknown {
  try {
    allowed(file, asked);
    return undefined;
  } catch (error) {
    if (error instanceof Refusal) return [error.at, error.text];
    throw error;
  }
}

const pageImage = { at: '/image' };
const signed = '/T (a) /V << /Type /Sig >>';
const timeStamped = '/T (a) /V << /Type /DocTimeStamp >>';

describe('a document that is signed', () => {
  it('is one with a signature, not one with a time-stamp', () => {
    expect(refusalOf(opened(pdfWith(timeStamped)), { certifies: 2 })).toBeUndefined();
    expect(refusalOf(opened(pdfWith(signed)), { certifies: 2 })).toEqual(['/px/docMDPLevel', expect.stringContaining('signed already')]);
  });

  it('has pages that stay as they are, also where a time-stamp or a signature that is gone covers them', () => {
    const emptied = revised(
      signPdfWith(smallPdf({ catalog: '/AcroForm 12 0 R', objects: ['<< /Fields [] >>'] }), { docMDPLevel: 'LEVEL_2' }),
      (revision) => {
        changing(revision, reference(12), { Fields: [] });
        changing(revision, revision.file.catalogReference, { Perms: null });
      },
    );
    for (const pdf of [pdfWith(signed), pdfWith(timeStamped), emptied])
      expect(refusalOf(opened(pdf), { pageImage })).toEqual(['/image', 'the document is signed already, so its pages must not change']);
    expect(refusalOf(opened(pdfWith('/T (a)')), { pageImage })).toBeUndefined();
    expect(refusalOf(opened(emptied), {})).toBeUndefined();
    expect(refusalOf(opened(emptied), { certifies: 2 })).toEqual(['/px/docMDPLevel', expect.any(String)]);
  });
});

describe('a field for a signature', () => {
  const signatureField = 'a';

  it('is the only one of its name', () => {
    const several = [pdfWith('/T (a)', '/T (a)'), pdfWith('/T (a)', signed), pdfWith(signed, '/T (a)', '/T (a)')];
    for (const pdf of several)
      expect(refusalOf(opened(pdf), { signatureField })).toEqual([
        '/px/visibleSignature/signatureField',
        'the document has several signature fields of this name',
      ]);
    expect(allowed(opened(pdfWith('/T (a)', '/T (b)')), { signatureField }).field?.reference.number).toBe(12);
  });

  it('has demands', () => {
    const file = opened(pdfWith('/T (a) /SV << /Ff 1 >>'));
    expect(refusalOf(file, { signatureField })).toEqual(['/document', 'the field a demands another filter']);
    expect(refusalOf(file, {})).toBeUndefined();
  });
});

describe('what a signature locks', () => {
  const lock = '/Lock << /Action /Include /Fields [(b)] /P 2 >>';
  const all = { action: 'All', fields: [] };
  const locking = (asked: object, ...fields: readonly string[]): unknown => {
    const { certifies, locks } = allowed(opened(pdfWith(`/T (own) ${lock}`, ...fields)), { signatureField: 'own', ...asked });
    return [certifies, locks];
  };
  const own = { action: 'Include', fields: ['b'], permission: 2 };

  it('is what its field says, or all fields with what it says of the document', () => {
    expect(locking({ certifies: 3 })).toEqual([3, own]);
    expect(locking({ certifies: 3, fieldsLock: 'ALL' })).toEqual([3, { ...all, permission: 2 }]);
    expect(locking({ fieldsLock: 'ALL', signatureField: undefined })).toEqual([undefined, { ...all, permission: undefined }]);
    expect(locking({ signatureField: undefined })).toEqual([undefined, undefined]);
  });

  it('is the document: by a certification for the first one, by a lock for the others', () => {
    expect(locking({ locksDocument: true })).toEqual([1, own]);
    expect(locking({ locksDocument: true }, timeStamped)).toEqual([1, own]);
    expect(locking({ locksDocument: true }, signed)).toEqual([undefined, { ...all, permission: 1 }]);
  });
});

describe('the permissions of an encrypted document', () => {
  const file = (...permissions: readonly string[]): PdfFile =>
    opened(encryptedPdf(pdfWith('/T (a)'), { revision: 6, user: 'user', owner: 'owner', permissions }), 'user');
  const [newField, existing] = [{}, { signatureField: 'a' }];
  const words = 'the permissions of the encrypted document do not allow';

  it.each<[readonly string[], readonly boolean[]]>([
    [
      ['--modify-other=y', '--annotate=y', '--form=n'],
      [true, true, true],
    ],
    [
      ['--modify-other=y', '--annotate=n', '--form=n'],
      [false, false, false],
    ],
    [
      ['--modify-other=n', '--annotate=y', '--form=n'],
      [false, true, false],
    ],
    [
      ['--modify-other=n', '--annotate=n', '--form=y'],
      [false, true, false],
    ],
    [
      ['--modify-other=y', '--annotate=n', '--form=y'],
      [false, true, true],
    ],
    [
      ['--modify-other=n', '--annotate=n', '--form=n'],
      [false, false, false],
    ],
  ])('%j: a new field, an existing one, and one with an image on the page', (permissions, expected) => {
    const document = file(...permissions);
    const refusals = [newField, existing, { ...existing, pageImage }].map((asked) => refusalOf(document, asked));
    expect(refusals.map((one) => one === undefined)).toEqual(expected);
    for (const one of refusals) if (one !== undefined) expect(one).toEqual(['/document', expect.stringContaining(words)]);
  });

  it('name the pages where those are the reason', () => {
    expect(refusalOf(file('--modify-other=n'), { ...existing, pageImage })).toEqual([
      '/document',
      `${words} changes of its pages with this password`,
    ]);
  });
});
