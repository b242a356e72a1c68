import { describe, expect, it } from 'vitest';
import { PdfDictionary, PdfName, type PdfObject } from '../../../../src/pdf/objects.ts';
import { textString } from '../../../../src/pdf/text-string.ts';
import { signPdf } from '../sign-pdf.ts';
import { withForm } from './form-pdf.ts';
import { changing, findingOf, reference, revised, stamped, stream } from './revised-pdf.ts';

const lock = (action: string, names: readonly string[] = [], level?: number): PdfDictionary =>
  PdfDictionary.of({
    ...{ Type: new PdfName('SigFieldLock'), Action: new PdfName(action) },
    ...(names.length === 0 ? {} : { Fields: names.map(textString) }),
    ...(level === undefined ? {} : { P: level }),
  });
const include = '/Action /Include /Fields [(Amount)]';

/** Fills in or signs a field of `withForm`, after a signature. */
const findingAfter = (pdf: Buffer, number: number, entries: Readonly<Record<string, PdfObject | undefined>>): string | undefined =>
  findingOf(revised(signPdf(pdf), (revision) => changing(revision, reference(number), entries)));

describe('a field that is signed and demands a lock', () => {
  it.each<readonly [string, string, PdfObject]>([
    ['has the same one', include, lock('Include', ['Amount'])],
    ['locks all', include, lock('All')],
    ['locks all where all but some were to be', '/Action /Exclude /Fields [(Amount)]', lock('All')],
    ['allows less than it must', include, lock('Include', ['Amount'], 1)],
    ['allows less than the lock', `${include} /P 2`, lock('Include', ['Amount'], 1)],
    ['allows as much as the lock', `${include} /P 2`, lock('Include', ['Amount'], 2)],
    ['says by a level what it is without one', include, lock('Include', ['Amount'], 3)],
    ['says nothing, as the level does', `${include} /P 3`, lock('Include', ['Amount'])],
  ])('is accepted where it %s', async (_, asked, kept) => {
    const signed = signPdf(withForm({ field: `/Lock << /Type /SigFieldLock ${asked} >>` }));
    expect(findingOf(await stamped(signed, { existing: 13, field: { Lock: kept } }))).toBeUndefined();
  });

  it.each<readonly [string, string, PdfObject]>([
    ['other fields', include, lock('Include', ['Place'])],
    ['no fields', include, lock('Include')],
    ['all but the fields', include, lock('Exclude', ['Amount'])],
    ['the fields instead of all others', '/Action /Exclude /Fields [(Amount)]', lock('Include', ['Amount'])],
    ['some instead of all', '/Action /All', lock('Include', ['Amount'])],
    ['all but some instead of all', '/Action /All', lock('Exclude')],
    ['by a higher level', `${include} /P 2`, lock('Include', ['Amount'], 3)],
    ['by no level', `${include} /P 1`, lock('Include', ['Amount'])],
    ['all, by a higher level', `${include} /P 1`, lock('All', [], 2)],
    ['nothing, since it is gone', include, null],
    ['nothing that can be read', include, lock('Some', ['Amount'])],
  ])('is refused where it locks %s', async (_, asked, kept) => {
    const signed = signPdf(withForm({ field: `/Lock << /Type /SigFieldLock ${asked} >>` }));
    expect(findingOf(await stamped(signed, { existing: 13, field: { Lock: kept } }))).toContain('Lock of the field "Place"');
  });

  it('need not demand one, and then takes one that can be read', async () => {
    const signed = signPdf(withForm());
    expect(findingOf(await stamped(signed, { existing: 13, field: { Lock: lock('All') } }))).toBeUndefined();
    expect(findingOf(await stamped(signed, { existing: 13, field: { Lock: lock('Some') } }))).toContain('Lock of the field "Place"');
    const unread = signPdf(withForm({ field: '/Lock << /Action /Some >>' }));
    expect(findingOf(await stamped(unread, { existing: 13 }))).toBeUndefined();
  });
});

describe('a field that is signed', () => {
  it.each<readonly [string, number, number, boolean]>([
    ['is printed now', 0, 4, true],
    ['is locked now', 4, 132, true],
    ['is no longer printed', 4, 0, false],
    ['is hidden now', 4, 6, false],
    ['is no longer hidden', 6, 4, false],
    ['is not viewed', 4, 36, false],
  ])('%s', async (_, was, is, isAllowed) => {
    const signed = signPdf(withForm({ flags: was }));
    const finding = findingOf(await stamped(signed, { existing: 13, field: { F: is } }));
    if (isAllowed) expect(finding).toBeUndefined();
    else expect(finding).toContain('F of the field "Place"');
  });

  it('is on the page on which it was', async () => {
    const finding = await stamped(signPdf(withForm()), { existing: 13, field: { P: reference(2) } }).then(findingOf);
    expect(finding).toContain('the page of the field "Place"');
  });

  it('keeps its name and its seed values', async () => {
    expect(await stamped(signPdf(withForm()), { existing: 13, field: { TU: textString('Seal') } }).then(findingOf)).toContain(
      'TU of the field "Place"',
    );
  });

  it('is not signed again, nor by what is no signature', async () => {
    const once = await stamped(signPdf(withForm()), { existing: 13 });
    expect(findingOf(once)).toBeUndefined();
    expect(findingAfter(withForm(), 13, { V: textString('Signed') })).toContain('which is not signed');
  });
});

describe('a field that is filled in', () => {
  const value = textString('250');

  it.each<readonly [string, string, Readonly<Record<string, PdfObject>>, string | undefined]>([
    ['is read only', '/Ff 1', { V: value }, 'which is read only'],
    ['has several lines', '/Ff 4096', { V: value }, undefined],
    ['has a rich text beside its value', '', { V: value, RV: textString('<p/>') }, undefined],
    ['has a rich text alone', '', { RV: textString('<p/>') }, 'whose value is the same'],
    ['has another date alone', '', { M: value }, 'whose value is the same'],
    ['has a value that is a list of texts', '', { V: [value, 1] }, undefined],
    ['has a value that is a list of others', '', { V: [new PdfDictionary()] }, 'V of the field "Amount"'],
    ['has a value that is a dictionary', '', { V: new PdfDictionary() }, 'V of the field "Amount"'],
    ['has a value that is neither true nor false', '', { V: true }, 'V of the field "Amount"'],
    ['has an appearance that is a text', '', { V: value, AP: value }, 'AP of the field "Amount"'],
    ['has the items of a choice', '', { V: value, TI: 1 }, 'TI of the field "Amount"'],
  ])('%s', (_, text, entries, reason) => {
    const finding = findingAfter(withForm({ text }), 12, entries);
    if (reason === undefined) expect(finding).toBeUndefined();
    else expect(finding).toContain(reason);
  });

  it.each([
    ['a long text', {}, undefined],
    ['a compressed one', { DecodeParms: new PdfDictionary() }, undefined],
    ['a form', { Type: new PdfName('XObject'), Subtype: new PdfName('Form') }, 'V of the field "Amount"'],
  ])('has a stream as its value: %s', (_, entries, reason) => {
    const pdf = revised(signPdf(withForm()), (revision) => changing(revision, reference(12), { V: revision.add(stream('long', entries)) }));
    if (reason === undefined) expect(findingOf(pdf)).toBeUndefined();
    else expect(findingOf(pdf)).toContain(reason);
  });

  it.each([
    ['a check box', '', undefined],
    ['a push button', '/Ff 65536', 'the push button "Amount"'],
  ])('is %s', (_, flags, reason) => {
    const finding = findingAfter(withForm({ type: 'Btn', text: flags }), 12, { V: new PdfName('Yes'), AS: new PdfName('Yes') });
    if (reason === undefined) expect(finding).toBeUndefined();
    else expect(finding).toContain(reason);
  });

  it('is a choice, and has other chosen items', () => {
    expect(findingAfter(withForm({ type: 'Ch' }), 12, { V: value, I: [1], TI: 1 })).toBeUndefined();
    expect(findingAfter(withForm({ type: 'Ch' }), 12, { I: [1] })).toBeUndefined();
    expect(findingAfter(withForm({ type: 'Ch' }), 12, { TI: 1 })).toContain('whose value is the same');
    expect(findingAfter(withForm({ type: 'None' }), 12, { V: value })).toBeDefined();
  });
});

describe('the form', () => {
  it.each<readonly [string, string, PdfObject | undefined]>([
    ['that it needs appearances, is taken back', '/NeedAppearances true', undefined],
    ['that it needs appearances, is denied', '/NeedAppearances true', false],
    ['that it needs none, is reversed', '/NeedAppearances false', true],
  ])('says something that decides what is shown: %s', (_, entry, is) => {
    const finding = findingAfter(withForm({ form: entry }), 14, { NeedAppearances: is });
    expect(finding).toContain('NeedAppearances of the interactive form');
  });

  it.each<readonly [string, PdfObject | undefined, boolean]>([
    ['3', 1, false],
    ['3', undefined, false],
    ['1', 3, true],
    ['0', 3, true],
    ['7', 7, true],
    ['4', 3, false],
    ['3', 7, false],
    ['7', 3, false],
    ['3', textString('3'), false],
  ])('has flags, the first two of which a signature sets: %s, then %s', (was, is, isAllowed) => {
    const finding = findingAfter(withForm({ form: `/SigFlags ${was}` }), 14, { SigFlags: is });
    if (isAllowed) expect(finding).toBeUndefined();
    else expect(finding).toContain('the flags of the interactive form');
  });
});
