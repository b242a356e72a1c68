import { describe, expect, it } from 'vitest';
import { PdfDictionary, PdfName, type PdfArray, type PdfObject } from '../../../../src/pdf/objects.ts';
import { textString } from '../../../../src/pdf/text-string.ts';
import { smallPdf } from '../../../support/small-pdf.ts';
import { signPdfWith } from '../sign-pdf.ts';
import { addAnnotation, changing, findingOf, firstPage, painted, reference, revised } from './revised-pdf.ts';

const name = (text: string): PdfName => new PdfName(text);
const note = '<< /Type /Annot /Subtype /Text /Contents (a) /Rect [0 0 9 9] >>';
const level3 = { docMDPLevel: 'LEVEL_3' };
/** Comments in objects 12, 13 and 15 of a page, which says in object 14 what annotations it has. */
const commented = signPdfWith(
  smallPdf({ page: '/Annots 14 0 R', objects: [note, note, '[12 0 R 13 0 R 15 0 R]', note, '/Text', '(b)', '/Link'] }),
  level3,
);
const bare = signPdfWith(smallPdf(), level3);
/** Why a change of the first comment is refused. */
const changed = (entries: Readonly<Record<string, PdfObject>>): string | undefined =>
  findingOf(revised(commented, (revision) => changing(revision, reference(12), entries)));
const added = (...all: readonly Readonly<Record<string, PdfObject>>[]): string | undefined =>
  findingOf(revised(bare, (revision) => all.forEach((entries) => void addAnnotation(revision, entries))));

describe('a comment on level 3', () => {
  const kinds = [
    ...['Text', 'FreeText', 'Line', 'Square', 'Circle', 'Polygon', 'PolyLine', 'Highlight', 'Underline', 'Squiggly'],
    ...['StrikeOut', 'Caret', 'Stamp', 'Ink', 'Popup', 'FileAttachment'],
  ];

  it('is of any type with which a reader comments', () => {
    expect(added(...kinds.map((kind) => ({ Subtype: name(kind) })))).toBeUndefined();
  });

  it.each(['Link', 'Widget', 'Redact', 'Screen', 'Movie', 'Sound', 'RichMedia', '3D', 'Watermark', 'PrinterMark', 'TrapNet', 'Projection'])(
    'is of no other type: %s',
    (kind) => {
      expect(added({ Subtype: name(kind) })).toContain('an annotation was added to a page');
    },
  );

  it.each<[string, Readonly<Record<string, PdfObject>>]>([
    ['that has kids', { Kids: [] }],
    ['whose text is none', { Contents: 5 }],
    ['whose text is a list', { Contents: [] }],
  ])('is none %s', (_what, entries) => {
    expect(added({ Subtype: name('Text'), ...entries })).toContain('an annotation was added to a page');
    expect(changed(entries)).toBeDefined();
  });

  it('may change in all that it says and shows', () => {
    const texts = ['Contents', 'M', 'NM', 'T', 'RC', 'CreationDate', 'Subj', 'DA', 'DS', 'State', 'StateModel', 'Sy'];
    const names = ['AS', 'RT', 'IT', 'LE', 'Name'];
    const lists = ['Rect', 'C', 'QuadPoints', 'Vertices', 'InkList', 'L', 'IC', 'CL', 'RD', 'Border'];
    const entries: Record<string, PdfObject> = {
      ...Object.fromEntries(texts.map((key) => [key, textString('new')])),
      ...Object.fromEntries(names.map((key) => [key, name('New')])),
      ...Object.fromEntries(lists.map((key) => [key, [1, 2, 3, 4]])),
      ...Object.fromEntries(['BS', 'BE', 'FS'].map((key) => [key, PdfDictionary.of({ W: 1 })])),
      ...{ CA: 0.5, Q: 1, F: 4, Open: true, IRT: reference(13), Popup: reference(13) },
    };
    expect(changed(entries)).toBeUndefined();
    const shown = revised(commented, (revision) => changing(revision, reference(12), { AP: PdfDictionary.of({ N: painted(revision) }) }));
    expect(findingOf(shown)).toBeUndefined();
  });

  it.each<[string, PdfObject]>([
    ['OC', new PdfDictionary()],
    ['Subtype', name('Stamp')],
    ['Type', name('Other')],
    ['P', reference(4)],
    ['Parent', reference(13)],
    ['FT', name('Sig')],
    ['MK', new PdfDictionary()],
    ['StructParent', 1],
    ['AF', []],
  ])('may not change in its %s', (key, value) => {
    expect(changed({ [key]: value })).toContain(`${key} of an annotation`);
  });

  it('shows what is a form, new or not', () => {
    // Object 5 is the content of the page, which did not change.
    const content = { AP: PdfDictionary.of({ N: reference(5) }) };
    const findings = [changed(content), added({ Subtype: name('Text'), ...content })];
    for (const one of findings) expect(one).toContain('the appearance of an annotation has something of another type (AP/N)');
  });

  it('may be taken away, and be in another order, unlike a signature', () => {
    const annotations = (change: (comments: PdfArray, signature: PdfArray) => PdfObject): string | undefined =>
      findingOf(
        revised(commented, (revision) => {
          const all = revision.file.array(reference(14), 'the annotations');
          revision.set(reference(14), change(all.slice(0, 3), all.slice(3)));
        }),
      );
    expect(annotations(([, second = null, third = null], signature) => [third, ...signature, second])).toBeUndefined();
    expect(annotations((_, signature) => signature)).toBeUndefined();
    expect(annotations((comments) => comments)).toContain('an annotation of a page is gone');
    expect(annotations((comments, signature) => [...comments, reference(4), ...signature])).toContain('an annotation was added');
  });

  it('may say what it is, and what it says, in objects of their own', () => {
    expect(added({ Subtype: name('Text'), Contents: textString('b') })).toBeUndefined();
    expect(changed({ Contents: reference(17) })).toBeUndefined();
    expect(changed({ Contents: reference(16) })).toBeDefined();
    const elsewhere = smallPdf({ page: '/Annots [12 0 R]', objects: ['<< /Subtype 13 0 R /Contents 14 0 R >>', '/Text', '(b)'] });
    const pdf = revised(signPdfWith(elsewhere, level3), (revision) => changing(revision, reference(12), { M: textString('D:2026') }));
    expect(findingOf(pdf)).toBeUndefined();
  });
});

describe('the comments of a document that is not certified for them', () => {
  const onLevel2 = signPdfWith(smallPdf({ page: '/Annots 14 0 R', objects: [note, note, '[12 0 R 13 0 R]'] }), { docMDPLevel: 'LEVEL_2' });

  it('stay as they are, and where they are', () => {
    const without = (annotations: PdfObject): string | undefined =>
      findingOf(revised(onLevel2, (revision) => revision.set(reference(14), annotations)));
    expect(without([reference(13)])).toContain('an annotation of a page is gone');
    expect(without([reference(13), reference(12)])).toContain('an annotation of a page is gone');
    const pdf = revised(onLevel2, (revision) => changing(revision, reference(12), { Contents: textString('b') }));
    expect(findingOf(pdf)).toContain('Contents of a dictionary of type "Annot" (object 12)');
  });
});

describe('a page', () => {
  const change = (entries: Readonly<Record<string, PdfObject>>, page = ''): string | undefined =>
    findingOf(revised(signPdfWith(smallPdf({ page }), level3), (revision) => changing(revision, firstPage(revision), entries)));

  it('may be given an order of tabs, once', () => {
    expect(change({ Tabs: name('S') })).toBeUndefined();
    expect(change({ Tabs: textString('S') })).toContain('Tabs of a page');
    expect(change({ Tabs: name('S') }, '/Tabs /R')).toContain('Tabs of a page');
    expect(change({ Tabs: null }, '/Tabs /R')).toContain('Tabs of a page');
  });

  it.each(['Rotate', 'UserUnit', 'StructParents', 'Dur'])('may not change in its %s', (key) => {
    expect(change({ [key]: 90 })).toContain(`${key} of a dictionary of type "Page"`);
  });

  it('has a list of annotations', () => {
    expect(change({ Annots: name('None') })).toContain('annotations of a page that are no array');
  });

  it('is what its tree has, whatever says so', () => {
    const page = '<< /Type /Page >>';
    const pdf = signPdfWith(
      smallPdf({ objects: [page, '<< /Kids [12 0 R] /Parent 2 0 R /Other 14 0 R >>', '<< /Type /Page /Parent 13 0 R >>'] }),
      level3,
    );
    const tabbed = (number: number): string | undefined =>
      findingOf(revised(pdf, (revision) => changing(revision, reference(number), { Tabs: name('S') })));
    expect(tabbed(4)).toBeUndefined();
    // The first has no parent, the parent of the other does not have it.
    expect(tabbed(12)).toContain('Tabs of object 12, which is no page');
    expect(tabbed(14)).toContain('Tabs of object 14, which is no page');
  });
});
