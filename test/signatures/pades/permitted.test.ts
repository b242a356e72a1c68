import { describe, expect, it } from 'vitest';
import { Refusal } from '../../../src/result-codes.ts';
import { madePdf, revised, usualObjects } from '../../pdf/made-pdf.ts';
import { qpdf } from '../../pdf/qpdf.ts';
import { pdfSignatures } from '../../support/pdf-judges.ts';
import { signPdf, signPdfWith } from './sign-pdf.ts';

const table = madePdf(usualObjects());
const document = '/inputDocuments/0';
const px = '/parameters/XP7Signature/XP7Providers/PXP7Parameters';
const field = { visibleSignature: { signatureField: 'seals.1' } };

/** Code, place and words of a refusal. */
function refusalOf(step: () => unknown): readonly [string, string | undefined, string] {
  try {
    step();
  } catch (error) {
    if (error instanceof Refusal) return [error.code, error.at, error.text];
    throw error;
  }
  throw new Error('it was not refused');
}

const changed = (objects: Readonly<Record<number, string>>): Buffer => madePdf({ ...usualObjects(), ...objects });
const text = table.toString('latin1');
const damaged = (from: string | RegExp, to: string): Buffer => Buffer.from(text.replace(from, to), 'latin1');

describe('a document that allows no signature', () => {
  const [certified, approved, locked] = [{ docMDPLevel: 'LEVEL_1' }, {}, { documentLock: true }].map((first) => signPdfWith(table, first));
  const noChanges = 'an earlier signature allows no changes of the document (DocMDP level 1)';
  const isFirst = 'the document is signed already; only the first signature can certify it';

  it.each([
    [certified, {}, ['NOT_PERMITTED_BY_DOCUMENT', document, noChanges]],
    [certified, field, ['NOT_PERMITTED_BY_DOCUMENT', document, noChanges]],
    [certified, { docMDPLevel: 'LEVEL_2' }, ['NOT_PERMITTED_BY_DOCUMENT', document, noChanges]],
    [locked, {}, ['NOT_PERMITTED_BY_DOCUMENT', document, noChanges]],
    [approved, { docMDPLevel: 'LEVEL_3' }, ['NOT_PERMITTED_BY_DOCUMENT', `${px}/docMDPLevel`, isFirst]],
    [
      signPdfWith(table, { fieldsLock: 'ALL' }),
      field,
      ['NOT_PERMITTED_BY_DOCUMENT', document, 'the field seals.1 is locked by an earlier signature'],
    ],
    [
      Buffer.from(signPdfWith(table, { fieldsLock: 'ALL' }).toString('latin1').replaceAll('/Action /All', '/Action /Odd'), 'latin1'),
      field,
      ['NOT_PERMITTED_BY_DOCUMENT', document, 'the field seals.1 is locked by an earlier signature'],
    ],
    [signPdfWith(approved ?? table, { documentLock: true }), {}, ['NOT_PERMITTED_BY_DOCUMENT', document, noChanges]],
    [
      changed({ 12: '<</Subtype /Widget /Parent 11 0 R /T (1) /Rect [0 0 9 9] /P 3 0 R /Lock <</Action /All>>>>' }),
      { visibleSignature: { signatureField: 'seals.1' }, fieldsLock: 'NEITHER' },
      undefined,
    ],
    [
      approved,
      { visibleSignature: { signatureField: 'Signature1' } },
      ['FIELDS_INCONSISTENT', `${px}/visibleSignature/signatureField`, 'the field is signed already'],
    ],
    [
      approved,
      { visibleSignature: { signatureField: 'name' } },
      ['FIELDS_INCONSISTENT', `${px}/visibleSignature/signatureField`, 'the document has no signature field of this name'],
    ],
  ])('is refused', (pdf, parameters, expected) => {
    const found = refusalOf(() => signPdfWith(pdf ?? table, parameters));
    expect(found).toEqual(
      expected ?? ['NOT_PERMITTED_BY_DOCUMENT', `${px}/fieldsLock`, 'the signature field demands a lock, so NEITHER is not possible'],
    );
  });

  it('is not one with a signature that locks all fields, for a new field', () => {
    for (const first of [{ fieldsLock: 'ALL' }, { docMDPLevel: 'LEVEL_2', fieldsLock: 'ALL' }, { docMDPLevel: 'LEVEL_3' }]) {
      const signed = signPdfWith(signPdfWith(table, first), {});
      expect(pdfSignatures(signed).map(({ validation }) => validation)).toEqual(['Signature is Valid.', 'Signature is Valid.']);
    }
  });
});

describe('a combination of options', () => {
  it.each([{}, { signatureField: 'seals.1' }])('has a picture that can be read, in any field: %j', (place) => {
    const [, at] = refusalOf(() => signPdfWith(table, { visibleSignature: { ...place, image: 'AAAA' } }));
    expect(at).toBe(`${px}/visibleSignature/image`);
  });

  it.each([
    [
      { XP7Providers: { PXP7Parameters: { documentLock: true, docMDPLevel: 'LEVEL_2' } } },
      ['FIELDS_INCONSISTENT', `${px}/documentLock`, 'a locked document allows no changes, so docMDPLevel LEVEL_2 is not possible'],
    ],
    [
      { signedProperties: { signingTime: { source: 'NONE' } } },
      [
        'FIELDS_INCONSISTENT',
        '/parameters/XP7Signature/signedProperties/signingTime/source',
        'a PDF signature has a time, so NONE is not possible',
      ],
    ],
    ...[{}, { archiveTimeStamp: true }].map((longTermValidation): [Readonly<Record<string, unknown>>, readonly string[]] => [
      { timeStamp: {}, longTermValidation, XP7Providers: { PXP7Parameters: { signatureFormat: 'BASIC' } } },
      ['UNSUPPORTED', `${px}/signatureFormat`, 'levels LT and LTA need the format ENHANCED'],
    ]),
  ])('is refused: %j', (xp7, expected) => {
    expect(refusalOf(() => signPdf(table, xp7))).toEqual(expected);
  });
});

describe('a document that is no sound PDF', () => {
  it.each([
    ['nothing', Buffer.alloc(0), 'the document is empty'],
    ['text', Buffer.from('Lu et approuvé'), 'the file is no PDF: its header is missing'],
    ['bytes before the header', Buffer.concat([Buffer.from('\n\n'), table]), 'the PDF has 2 bytes before its header'],
    ['no end', table.subarray(0, table.lastIndexOf('startxref')), 'the file does not end as a PDF does: there is no startxref'],
    ['no catalog', damaged('/Root 1 0 R', ''), 'the trailer names no catalog'],
    ['a catalog that is not there', damaged('/Root 1 0 R', '/Root 99 0 R'), 'the catalog is no dictionary'],
    ['a page tree that is not there', changed({ 1: '<</Type /Catalog /Pages 99 0 R>>' }), 'node 99 of the page tree is no dictionary'],
    ['a page tree that is a circle', changed({ 4: '<</Type /Pages /Kids [2 0 R]>>', 2: '<</Type /Pages /Kids [4 0 R]>>' }), undefined],
    ['no pages', changed({ 2: '<</Type /Pages /Kids [] /Count 0>>' }), 'the document has no pages'],
    ['annotations that are none', changed({ 3: '<</Type /Page /Parent 2 0 R /Annots 5>>' }), 'Annots is no array'],
    ['revisions that are a circle', damaged('trailer\n<<', `trailer\n<</Prev ${text.indexOf('xref\n0')} `), undefined],
    ['an object at another place', damaged('1 0 obj\n<</Type /Catalog', '1 1 obj\n<</Type /Catalog'), undefined],
  ])('is refused: %s', (_, pdf, message) => {
    const [code, at, words] = refusalOf(() => signPdfWith(pdf, {}));
    expect([code, at]).toEqual(['DOCUMENT_INVALID', document]);
    if (message === undefined) expect(words).not.toBe('');
    else expect(words).toContain(message);
  });

  it('is refused where its last revision ended too early', () => {
    const cut = revised(table, { 3: '<</Type /Page /Parent 2 0 R>>' });
    expect(refusalOf(() => signPdfWith(cut.subarray(0, cut.length - 8), {}))[0]).toBe('DOCUMENT_INVALID');
  });
});

describe('a document that is encrypted', () => {
  const encrypted = (...rules: string[]): Buffer => qpdf(table, ['--encrypt', 'lecteur', 'auteur', '256', ...rules, '--']);
  const noRight = 'the permissions of the encrypted document do not allow a signature with this password';

  it('is refused without its password, and with a wrong one', () => {
    for (const more of [{}, { password: '' }, { password: 'faux' }])
      expect(refusalOf(() => signPdfWith(encrypted(), {}, more)).slice(0, 2)).toEqual(['NOT_PERMITTED_BY_DOCUMENT', document]);
  });

  it.each([
    ['--modify=none', {}],
    ['--modify=annotate', {}],
    ['--modify=form', {}],
    ['--modify=none', field],
  ])('and allows %s only is refused with the password of the user, not with that of the owner: %j', (rule, parameters) => {
    const pdf = encrypted(rule);
    expect(refusalOf(() => signPdfWith(pdf, parameters, { password: 'lecteur' }))).toEqual([
      'NOT_PERMITTED_BY_DOCUMENT',
      document,
      noRight,
    ]);
    expect(pdfSignatures(signPdfWith(pdf, parameters, { password: 'auteur' }), 'lecteur')).toMatchObject([
      { validation: 'Signature is Valid.' },
    ]);
  });

  it.each(['--modify=form', '--modify=annotate'])('and allows %s lets an existing field be signed', (rule) => {
    expect(pdfSignatures(signPdfWith(encrypted(rule), field, { password: 'lecteur' }), 'lecteur')).toHaveLength(1);
  });
});
