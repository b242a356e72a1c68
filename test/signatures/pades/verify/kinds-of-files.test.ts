import { describe, expect, it } from 'vitest';
import { smallPdf } from '../../../support/small-pdf.ts';
import { signPdf, signPdfWith } from '../sign-pdf.ts';
import { madePdf, usualObjects } from '../../../pdf/made-pdf.ts';
import { changing, findingOf, reference, revised, stream } from './revised-pdf.ts';
import { rewritten } from './rewritten-pdf.ts';

const weak = '--allow-weak-crypto';
const kinds: readonly (readonly [string, readonly string[], string | undefined])[] = [
  ['object streams', ['--object-streams=generate'], undefined],
  ['linearised', ['--linearize'], undefined],
  ['linearised, with object streams', ['--linearize', '--object-streams=generate'], undefined],
  ['encrypted, revision 2', [weak, '--encrypt', 'user', 'owner', '40', '--'], 'user'],
  ['encrypted, revision 3', [weak, '--encrypt', 'user', 'owner', '128', '--'], 'user'],
  ['encrypted, revision 4', [weak, '--encrypt', 'user', 'owner', '128', '--use-aes=y', '--'], 'user'],
  ['encrypted, revision 6', ['--encrypt', 'user', 'owner', '256', '--'], 'owner'],
];

describe('signatures one after another hold', () => {
  it.each(kinds)('in a file that is %s', (_, options, password) => {
    const signing = password === undefined ? {} : { password };
    let pdf = signPdfWith(rewritten(smallPdf({ pages: 3 }), options), { docMDPLevel: 'LEVEL_2' }, signing);
    pdf = signPdf(pdf, { validateSignatures: true, XP7Providers: { PXP7Parameters: { visibleSignature: {} } } }, signing);
    pdf = signPdf(pdf, { validateSignatures: true }, signing);
    expect(findingOf(pdf, password)).toBeUndefined();
  });
});

describe('what changed after a signature is found', () => {
  const shapes = [{}, { shape: 'STREAM' }, { shape: 'OBJECT_STREAMS' }, { shape: 'OBJECT_STREAMS', isCompressed: true }] as const;
  it.each(shapes)('in a file that is written as %j', (options) => {
    const signed = signPdf(madePdf(usualObjects(), options));
    expect(findingOf(revised(signed, (revision) => changing(revision, reference(3), {})))).toBeUndefined();
    // A page leads to its content, resources to a font.
    expect(findingOf(revised(signed, (revision) => revision.set(reference(7), stream('q Q'))))).toContain('object 7');
    expect(findingOf(revised(signed, (revision) => changing(revision, reference(14), { X: 1 })))).toContain('object 14');
    expect(findingOf(revised(signed, (revision) => changing(revision, reference(8), { X: 1 })))).toContain('object 8');
    expect(findingOf(revised(signed, (revision) => revision.set(reference(13), null)))).toContain('object 13');
    expect(findingOf(revised(signed, (revision) => changing(revision, reference(16), { Creator: null })))).toBeUndefined();
  });
});

/** A page (4) with a signature field. Objects from number 12 on. */
const forms: readonly (readonly [string, string, string, readonly string[]])[] = [
  [
    'lists that are objects of their own',
    'Place',
    '13 0 R',
    ['<< /Fields 14 0 R >>', '[15 0 R]', '[15 0 R]', '<< /Subtype /Widget /FT /Sig /T (Place) /Rect [9 9 90 90] >>'],
  ],
  [
    'a widget apart from its field',
    'Place',
    '[14 0 R]',
    ['<< /Fields [13 0 R] >>', '<< /FT /Sig /T (Place) /Kids [14 0 R] >>', '<< /Subtype /Widget /Parent 13 0 R /Rect [9 9 90 90] >>'],
  ],
  [
    'a field in another field',
    'a.b',
    '[14 0 R]',
    ['<< /Fields [13 0 R] >>', '<< /T (a) /Kids [14 0 R] >>', '<< /Subtype /Widget /FT /Sig /T (b) /Parent 13 0 R /Rect [9 9 90 90] >>'],
  ],
  [
    'a field with flags and an appearance',
    'Place',
    '[13 0 R]',
    ['<< /Fields [13 0 R] /SigFlags 1 >>', '<< /Subtype /Widget /FT /Sig /F 0 /T (Place) /Rect [9 9 90 90] /AP << >> >>'],
  ],
];

describe('a field of an earlier form is signed after another one', () => {
  it.each(forms)('%s', (_, signatureField, annotations, objects) => {
    const pdf = smallPdf({ catalog: '/AcroForm 12 0 R', page: `/Annots ${annotations}`, objects });
    const signed = signPdfWith(signPdf(pdf), { visibleSignature: { signatureField } });
    expect(findingOf(signed)).toBeUndefined();
    expect(
      findingOf(signPdf(signed, { validateSignatures: true, XP7Providers: { PXP7Parameters: { visibleSignature: {} } } })),
    ).toBeUndefined();
  });
});
