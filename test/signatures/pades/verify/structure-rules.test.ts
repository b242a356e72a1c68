import { describe, expect, it } from 'vitest';
import { PdfDictionary, PdfName, type PdfObject, type PdfReference } from '../../../../src/pdf/objects.ts';
import type { Revision } from '../../../../src/pdf/revision.ts';
import { textString } from '../../../../src/pdf/text-string.ts';
import { smallPdf } from '../../../support/small-pdf.ts';
import { signPdf } from '../sign-pdf.ts';
import { changing, findingOf, reference, revised, stamped } from './revised-pdf.ts';

/** A tagged file: root 12, element Document 13, element P 14 on page 4. */
function tagged(root = '/ParentTree << /Nums [0 [14 0 R]] >> /ParentTreeNextKey 1'): Buffer {
  return smallPdf({
    catalog: '/MarkInfo << /Marked true >> /StructTreeRoot 12 0 R',
    page: '/StructParents 0 /Tabs /S',
    objects: [
      `<< /Type /StructTreeRoot /K 13 0 R ${root} >>`,
      '<< /Type /StructElem /S /Document /P 12 0 R /K [14 0 R] >>',
      '<< /Type /StructElem /S /P /P 13 0 R /Pg 4 0 R /K 0 >>',
    ],
  });
}

type Entries = Readonly<Record<string, PdfObject | undefined>>;
const signed = signPdf(tagged());
const numbers = (list: readonly PdfObject[]): PdfDictionary => PdfDictionary.of({ Nums: list });

/** Adds an element for a widget, with these entries, to the element Document. */
function addElement(revision: Revision, widget: PdfReference, entries: Entries = {}): PdfReference {
  const element = revision.add(
    PdfDictionary.of({
      ...{ Type: new PdfName('StructElem'), S: new PdfName('Form'), P: reference(13), Pg: reference(4) },
      ...{ K: PdfDictionary.of({ Type: new PdfName('OBJR'), Obj: widget }) },
    }).with(entries),
  );
  changing(revision, reference(13), { K: [reference(14), element] });
  return element;
}

/** Finding after a time-stamp whose revision changes more. */
const findingWith = async (change: (revision: Revision, widget: PdfReference) => void): Promise<string | undefined> =>
  findingOf(await stamped(signed, { change }));
/** Finding after changes of the root alone. */
const findingOfRoot = (entries: Entries, pdf = signed): string | undefined =>
  findingOf(revised(pdf, (revision) => changing(revision, reference(12), entries)));

describe('an element of the structure', () => {
  it('may be added for the widget of a new signature', async () => {
    expect(await findingWith((revision, widget) => void addElement(revision, widget))).toBeUndefined();
    expect(
      await findingWith((revision, widget) => {
        const element = addElement(revision, widget, { Alt: textString('A seal') });
        changing(revision, reference(12), { ParentTree: numbers([0, [reference(14)], 1, element]), ParentTreeNextKey: 2 });
      }),
    ).toBeUndefined();
  });

  it.each<readonly [string, Entries, string]>([
    ['replaces what it says', { ActualText: textString('PAY 999999') }, 'with ActualText was added'],
    ['expands what it says', { E: textString('PAY 999999') }, 'with E was added'],
    ['has attributes', { A: new PdfDictionary() }, 'with A was added'],
    ['is for other content', { K: 0 }, 'that is not for a new signature'],
    ['is for an object of the page', { K: PdfDictionary.of({ Type: new PdfName('OBJR'), Obj: reference(5) }) }, 'not for a new signature'],
    ['is for nothing', { K: undefined }, 'not for a new signature'],
  ])('may not be added if it %s', async (_, entries, reason) => {
    expect(await findingWith((revision, widget) => void addElement(revision, widget, entries))).toContain(reason);
  });

  it('may not be added if it refers to the widget as something else', async () => {
    const finding = await findingWith((revision, widget) => {
      addElement(revision, widget, { K: PdfDictionary.of({ Type: new PdfName('MCR'), Obj: widget }) });
    });
    expect(finding).toContain('not for a new signature');
  });

  it('may not be added as a part of its parent, or twice', async () => {
    const direct = await findingWith((revision, widget) => {
      const element = revision.resolved(addElement(revision, widget));
      changing(revision, reference(13), { K: [reference(14), element] });
    });
    expect(direct).toContain('an element of the structure was added');
    const again = findingOf(revised(signed, (revision) => changing(revision, reference(13), { K: [reference(14), reference(14)] })));
    expect(again).toContain('an element of the structure was added');
  });

  it.each<readonly [string, number, Entries, string]>([
    ['be taken away', 13, { K: [] }, 'elements of the structure'],
    ['be another kind of element', 13, { S: new PdfName('Art'), K: [reference(14)] }, 'S of an element of the structure'],
    ['say something else', 13, { ActualText: textString('PAY 999999') }, 'ActualText of an element of the structure'],
    ['be for other content', 14, { K: 1 }, ''],
  ])('may not %s', (_, number, entries, reason) => {
    const finding = findingOf(revised(signed, (revision) => changing(revision, reference(number), entries)));
    expect(finding).toBeDefined();
    expect(finding).toContain(reason);
  });
});

describe('the root of the structure', () => {
  it.each<readonly [string, Entries, string | undefined]>([
    ['a higher next key', { ParentTreeNextKey: 5 }, undefined],
    ['a lower next key', { ParentTreeNextKey: 0 }, 'ParentTreeNextKey of the structure'],
    ['no next key', { ParentTreeNextKey: undefined }, 'ParentTreeNextKey of the structure'],
    ['a next key that is no number', { ParentTreeNextKey: textString('2') }, 'ParentTreeNextKey of the structure'],
    ['roles', { RoleMap: new PdfDictionary() }, 'RoleMap of the structure'],
    ['classes', { ClassMap: new PdfDictionary() }, 'ClassMap of the structure'],
    ['another element', { K: reference(14) }, 'elements of the structure'],
    ['no elements', { K: undefined }, 'elements of the structure'],
    ['no parents', { ParentTree: undefined }, 'the parents of the structure'],
    ['parents that are no tree', { ParentTree: 5 }, 'the parents of the structure'],
    ['a parent more', { ParentTree: numbers([0, [reference(14)], 1, reference(14)]) }, undefined],
    ['a parent more, which is a text', { ParentTree: numbers([0, [reference(14)], 1, textString('a')]) }, 'the parents of the structure'],
    ['a parent more before the others', { ParentTree: numbers([-1, null, 0, [reference(14)]]) }, 'the parents of the structure'],
    ['a parent less', { ParentTree: numbers([]) }, 'the parents of the structure'],
    ['another parent', { ParentTree: numbers([0, [reference(13)]]) }, 'the parents of the structure'],
    ['limits in its tree', { ParentTree: numbers([0, [reference(14)]]).with({ Limits: [0, 0] }) }, 'the parents of the structure'],
  ])('that has %s', (_, entries, reason) => {
    if (reason === undefined) expect(findingOfRoot(entries)).toBeUndefined();
    else expect(findingOfRoot(entries)).toContain(reason);
  });

  it('may get its first parents and its first next key', () => {
    const bare = signPdf(tagged(''));
    expect(findingOfRoot({ ParentTreeNextKey: 0, ParentTree: numbers([0, [reference(14)]]) }, bare)).toBeUndefined();
    expect(findingOfRoot({ ParentTreeNextKey: -1 }, bare)).toContain('ParentTreeNextKey');
  });

  it('may not come, nor go', () => {
    const none = signPdf(smallPdf({ objects: ['<< /Type /StructTreeRoot >>'] }));
    for (const [pdf, entry] of [
      [none, reference(12)],
      [none, new PdfDictionary()],
      [signed, undefined],
    ] as const) {
      const changed = revised(pdf, (revision) => changing(revision, reference(1), { StructTreeRoot: entry }));
      expect(findingOf(changed)).toContain('the structure of the file');
    }
  });
});
