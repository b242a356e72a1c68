import { describe, expect, it } from 'vitest';
import { PdfDictionary, PdfName, type PdfObject } from '../../../../src/pdf/objects.ts';
import type { Revision } from '../../../../src/pdf/revision.ts';
import { textString } from '../../../../src/pdf/text-string.ts';
import { smallPdf } from '../../../support/small-pdf.ts';
import { signPdf, signPdfWith } from '../sign-pdf.ts';
import { withForm } from './form-pdf.ts';
import { addAnnotation, changing, findingOf, painted, reference, revised, signedByHand, stamped } from './revised-pdf.ts';

type Change = (revision: Revision) => void;

const name = (text: string): PdfName => new PdfName(text);
const catalog =
  (entries: Readonly<Record<string, PdfObject>>): Change =>
  (revision) =>
    changing(revision, revision.file.catalogReference, entries);

describe('what may not change in a certified document', () => {
  it.each(['LEVEL_1', 'LEVEL_2'])('a comment (evil annotation attack), %s', (docMDPLevel) => {
    const pdf = revised(signPdfWith(smallPdf(), { docMDPLevel }), (revision) => {
      addAnnotation(revision, { Subtype: name('FreeText'), AP: PdfDictionary.of({ N: painted(revision) }) });
    });
    expect(findingOf(pdf)).toContain('an annotation was added to a page');
  });

  it('an annotation on level 3 that does something', () => {
    const pdf = revised(signPdfWith(smallPdf(), { docMDPLevel: 'LEVEL_3' }), (revision) => {
      addAnnotation(revision, { Subtype: name('FreeText'), A: PdfDictionary.of({ S: name('JavaScript') }) });
    });
    expect(findingOf(pdf)).toBeDefined();
  });

  it.each(['LEVEL_1', 'LEVEL_2', 'LEVEL_3'])('a visible field whose signature is none (sneaky signature attack), %s', (docMDPLevel) => {
    const pdf = signedByHand(signPdfWith(smallPdf(), { docMDPLevel }), {
      field: { Rect: [0, 0, 600, 800] },
      value: () => Buffer.of(0x30, 0),
    });
    expect(findingOf(pdf)).toBeDefined();
  });

  it('another signature on level 1', () => {
    const certified = signPdfWith(smallPdf(), { docMDPLevel: 'LEVEL_1' });
    const [approval, other] = [signPdf(smallPdf()), certified];
    expect(findingOf(signedByHand(other, { value: () => approval.subarray(0, 9) }))).toBeDefined();
  });

  it('a visible document time-stamp on level 1', async () => {
    const certified = signPdfWith(smallPdf(), { docMDPLevel: 'LEVEL_1' });
    expect(findingOf(await stamped(certified, { field: { Rect: [0, 0, 600, 800] } }))).toContain('a visible field');
    expect(findingOf(await stamped(certified))).toBeUndefined();
  });

  it.each([
    ['five numbers', { Rect: [0, 0, 600, 800, 0] }],
    ['no numbers', { Rect: [name('a'), 0, 0, 0] }],
  ])('nor one whose rectangle is %s', async (_, field) => {
    expect(await stamped(signPdfWith(smallPdf(), { docMDPLevel: 'LEVEL_1' }), { field }).then(findingOf)).toContain('a visible field');
  });

  it.each<readonly [string, Readonly<Record<string, PdfObject>>, string, string | undefined]>([
    ['that shows something', { AP: PdfDictionary.of({ N: reference(15) }) }, '', 'what the visible field "Place" shows'],
    ['that is to be printed', { F: 132 }, '', 'what the visible field "Place" shows'],
    ['that shows what it did', {}, '', undefined],
    ['that has no area', { AP: PdfDictionary.of({ N: reference(15) }) }, '/Rect [9 9 9 9]', undefined],
  ])('a document time-stamp on level 1 in a field that was there, %s', async (_, field, more, reason) => {
    const certified = signPdfWith(withForm({ field: more, rect: more === '' }), { docMDPLevel: 'LEVEL_1' });
    const finding = findingOf(await stamped(certified, { existing: 13, field }));
    if (reason === undefined) expect(finding).toBeUndefined();
    else expect(finding).toContain(reason);
  });

  it.each<readonly [string, Readonly<Record<string, PdfObject>>, string]>([
    ['is no widget', { Subtype: name('Stamp') }, 'an annotation that is no widget'],
    ['has no subtype', { Subtype: null }, 'an annotation that is no widget'],
    ['acts', { A: PdfDictionary.of({ S: name('JavaScript') }) }, 'A of the new field'],
    ['has an entry of another annotation', { Name: name('Note') }, 'Name of the new field'],
    ['is in a layer', { OC: new PdfDictionary() }, 'OC of the new field'],
  ])('a new signature field that %s', async (_, field, reason) => {
    expect(findingOf(await stamped(signPdf(smallPdf()), { field }))).toContain(reason);
  });

  it.each([
    ['A', ['A']],
    ['AA', ['AA']],
    ['AA beside A', ['A', 'AA']],
  ])('a comment on level 3 with %s', (_, keys) => {
    const act = PdfDictionary.of({ S: name('JavaScript'), JS: textString('app.alert(1)') });
    const acting = Object.fromEntries(keys.map((key) => [key, key === 'A' ? act : PdfDictionary.of({ E: act })]));
    const comment = { Subtype: name('FreeText'), Contents: textString('Seen') };
    const certified = signPdfWith(smallPdf(), { docMDPLevel: 'LEVEL_3' });
    expect(findingOf(revised(certified, (revision) => void addAnnotation(revision, comment)))).toBeUndefined();
    expect(findingOf(revised(certified, (revision) => void addAnnotation(revision, { ...comment, ...acting })))).toContain(
      'an annotation was added to a page',
    );
    // Nor does a comment that is there come to act.
    const commented = smallPdf({ page: '/Annots [12 0 R]', objects: ['<< /Type /Annot /Subtype /Text /Contents (a) /Rect [0 0 9 9] >>'] });
    const changed = revised(signPdfWith(commented, { docMDPLevel: 'LEVEL_3' }), (revision) =>
      changing(revision, reference(12), { Contents: textString('b'), ...acting }),
    );
    expect(findingOf(changed)).toBeDefined();
  });

  it('a comment on level 3 that is another thing beside the change of its page', () => {
    const link = '<< /Type /Annot /Subtype /Link /Rect [0 0 9 9] >>';
    const note = '<< /Type /Annot /Subtype /Text /Contents (a) /Rect [0 0 9 9] >>';
    const signed = signPdfWith(smallPdf({ page: '/Annots [12 0 R 13 0 R]', objects: [link, note] }), { docMDPLevel: 'LEVEL_3' });
    const beside = (change: Change): Buffer =>
      revised(signed, (revision) => {
        addAnnotation(revision, { Subtype: name('FreeText'), Contents: textString('Seen') });
        change(revision);
      });
    expect(findingOf(beside((revision) => changing(revision, reference(13), { Contents: textString('b') })))).toBeUndefined();
    expect(findingOf(beside((revision) => changing(revision, reference(13), { OC: new PdfDictionary() })))).toContain(
      'OC of an annotation',
    );
    expect(findingOf(beside((revision) => changing(revision, reference(12), { Subtype: name('Stamp') })))).toBeDefined();
  });

  it.each(['LEVEL_1', 'LEVEL_2'])(
    'the certification that the catalog names: a later signature is not shown as it, %s',
    async (docMDPLevel) => {
      const certified = signPdfWith(smallPdf(), { docMDPLevel });
      const later = await stamped(certified);
      const number = Array.from(later.toString('latin1').matchAll(/(\d+) 0 obj\n<<\/Type \/DocTimeStamp/g), ([, digits]) =>
        Number(digits),
      ).at(-1);
      const replaced = revised(later, catalog({ Perms: PdfDictionary.of({ DocMDP: reference(number ?? 0) }) }));
      expect([findingOf(later), findingOf(replaced)]).toEqual([undefined, expect.stringContaining('DocMDP of the permissions')]);
    },
  );

  it('a certification that the catalog no longer names', () => {
    const pdf = revised(signPdfWith(smallPdf(), { docMDPLevel: 'LEVEL_2' }), catalog({ Perms: new PdfDictionary() }));
    expect(findingOf(pdf)).toContain('DocMDP of the permissions');
  });
});
