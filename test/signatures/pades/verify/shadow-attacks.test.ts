import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../../../src/asn1/byte-source.ts';
import { PdfDictionary, PdfName, PdfStream } from '../../../../src/pdf/objects.ts';
import { PdfFile } from '../../../../src/pdf/pdf-file.ts';
import type { Revision } from '../../../../src/pdf/revision.ts';
import { pdfOf, smallPdf } from '../../../support/small-pdf.ts';
import { madePdf, usualObjects } from '../../../pdf/made-pdf.ts';
import { statesSince } from '../../../../src/signatures/pades/verify/file-states.ts';
import { ReferenceScan } from '../../../../src/signatures/pades/verify/reference-scan.ts';
import { signPdf } from '../sign-pdf.ts';
import { rewritten } from './rewritten-pdf.ts';
import { changing, findingOf, formText, reference, refusalOf, revised, stream, streamText, withObjects } from './revised-pdf.ts';

const found = ['the signature "Signature1"', 'EXISTING_SIGNATURE_INVALID'];
const findings = (pdf: Uint8Array): unknown => [/the signature "[^"]*"/.exec(findingOf(pdf) ?? '')?.[0], refusalOf(pdf)];

/** Returns a PDF with an update that is only a cross-reference: entries are offsets by their numbers. */
function withTable(pdf: Buffer, entries: Readonly<Record<number, number | 'free'>>, size: number | string = 60): Buffer {
  const [, previous = ''] = Array.from(pdf.toString('latin1').matchAll(/startxref\n(\d+)\n%%EOF\n/g)).at(-1) ?? [];
  const lines = Object.entries(entries).map(([number, offset]) =>
    offset === 'free' ? `${number} 1\n0000000000 00001 f \n` : `${number} 1\n${String(offset).padStart(10, '0')} 00000 n \n`,
  );
  const trailer = `trailer\n<< /Size ${size} /Root 1 0 R /Prev ${previous} >>\nstartxref\n${pdf.length}\n%%EOF\n`;
  return Buffer.concat([pdf, Buffer.from(`xref\n${lines.join('')}${trailer}`)]);
}

/** Returns a PDF with an update that is only a cross-reference stream with one entry. */
function withStream(pdf: Buffer, [number, [kind, second, third]]: readonly [number, readonly [number, number, number]]): Buffer {
  const [, previous = ''] = Array.from(pdf.toString('latin1').matchAll(/startxref\n(\d+)\n%%EOF\n/g)).at(-1) ?? [];
  const row = Buffer.from([kind, second, third]);
  const entries = `/Type /XRef /W [1 1 1] /Index [${number} 1] /Size 60 /Root 1 0 R /Prev ${previous} /Length 3`;
  const section = [
    Buffer.from(`50 0 obj\n<< ${entries} >>\nstream\n`),
    row,
    Buffer.from(`\nendstream\nendobj\nstartxref\n${pdf.length}\n%%EOF\n`),
  ];
  return Buffer.concat([pdf, ...section]);
}

const metadata = (text: string): string => streamText(text, '/Type /Metadata /Subtype /XML');

/** Attacks in which the signer signs what was prepared (Mladenov et al., "Shadow Attacks", NDSS 2021). */
describe('shadow attacks', () => {
  it('hide: an overlay that the signer saw is taken away', () => {
    const pdf = smallPdf({
      page: '/Resources << /Font << /F1 3 0 R >> /XObject << /X 12 0 R >> >>',
      content: () => 'BT /F1 24 Tf 60 700 Td (PAY 999999) Tj ET /X Do',
      objects: ['<< /Type /XObject /Subtype /Form /BBox [0 0 600 800] /Length 16 >>\nstream\n1 g 0 0 9 9 re f\nendstream'],
    });
    const signed = signPdf(pdf);
    expect(findings(withTable(signed, { 12: 'free' }))).toEqual(found);
    expect(findings(revised(signed, (revision) => revision.set(reference(12), null)))).toEqual(found);
    expect(findings(revised(signed, (revision) => changing(revision, reference(4), { Resources: new PdfDictionary() })))).toEqual(found);
  });

  it('replace: a font under its number, and the value of a field by its appearance', () => {
    const signed = signPdf(smallPdf());
    const pdf = revised(signed, (revision) => {
      revision.set(
        reference(3),
        PdfDictionary.of({ Type: new PdfName('Font'), Subtype: new PdfName('Type1'), BaseFont: new PdfName('Symbol') }),
      );
    });
    expect(findings(pdf)).toEqual(found);
  });

  it('hide and replace: other content that was in the file is named by a new cross-reference', () => {
    const hidden = '5 0 obj\n<< /Length 37 >>\nstream\nBT /F1 24 Tf 60 700 Td (PAY 9) Tj ET  \nendstream\nendobj\n';
    // The second object 5 is in a stream that nothing names, so that it is part of what is signed.
    const signed = signPdf(smallPdf({ objects: [`<< /Length ${hidden.length} >>\nstream\n${hidden}\nendstream`] }));
    expect(findingOf(signed)).toBeUndefined();
    expect(findings(withTable(signed, { 5: signed.indexOf(hidden) }))).toEqual(found);
  });

  it('hide and replace: a reference to an object that does not exist yet', () => {
    const signed = signPdf(smallPdf({ page: '/Group 50 0 R', catalog: '/OCProperties << /X 51 0 R >>' }));
    expect(findingOf(signed)).toBeUndefined();
    const object = '50 0 obj\n<< /S /Transparency >>\nendobj\n';
    const offset = signed.length;
    expect(findings(withTable(Buffer.concat([signed, Buffer.from(object)]), { 50: offset }))).toEqual(found);
  });

  it('an object that ends only in what is added later', () => {
    // The string of object 6 goes on to the end of the file; the object is one only with what follows.
    const pdf = pdfOf(
      new Map([
        [1, '<< /Type /Catalog /Pages 2 0 R >>'],
        [2, '<< /Type /Pages /Kids [4 0 R] /Count 1 /MediaBox [0 0 600 800] >>'],
        [4, '<< /Type /Page /Parent 2 0 R /Group 6 0 R >>'],
        [6, '<< /S /Transparency /X ('],
      ]),
    );
    const signed = signPdf(pdf);
    expect(findingOf(signed)).toBeUndefined();
    const closed = Buffer.concat([signed, Buffer.from('%) >> endobj\n')]);
    const later = withTable(closed, {});
    expect(findingOf(later)).toContain('object 6 reaches into the value of one');
    expect(refusalOf(later)).toBe('EXISTING_SIGNATURE_INVALID');
    const file = new PdfFile(bytesInMemory(later));
    const states = statesSince(bytesInMemory(later), file, signed.length, undefined);
    expect(() => ReferenceScan.of(file, [states], []).checkWhole(states)).toThrow('covers only a part of object 6');
  });

  it('an object whose entry led behind the end of the signed file', () => {
    const bodies = new Map([
      [1, '<< /Type /Catalog /Pages 2 0 R >>'],
      [2, '<< /Type /Pages /Kids [4 0 R] /Count 1 /MediaBox [0 0 600 800] >>'],
      [4, '<< /Type /Page /Parent 2 0 R /Group 6 0 R >>'],
      [6, '<< >>'],
    ]);
    const text = pdfOf(bodies).toString('latin1');
    const offset = String(text.indexOf('6 0 obj')).padStart(10, '0');
    const signed = signPdf(Buffer.from(text.replace(offset, '0000020000'), 'latin1'));
    const object = '6 0 obj\n<< /S /Transparency >>\nendobj\n';
    const later = Buffer.concat([signed, Buffer.alloc(20_000 - signed.length, ' '), Buffer.from(object)]);
    expect(findings(withTable(later, {}))).toEqual(found);
  });

  it('an object stream under its number, with other objects in it', () => {
    const signed = signPdf(rewritten(smallPdf(), ['--object-streams=generate']));
    expect(findingOf(signed)).toBeUndefined();
    const number = Number(/(\d+) 0 obj\n<< \/Type \/ObjStm/.exec(signed.toString('latin1'))?.[1]);
    const other = (revision: Revision): void => {
      const old = revision.resolved(reference(number));
      if (!(old instanceof PdfStream)) throw new Error('no object stream');
      const content = Buffer.from(revision.file.content(old, 1_000_000)).toString('latin1').replace('/Helvetica', '/Symbol   ');
      const entries = { Type: new PdfName('ObjStm'), N: old.dictionary.get('N'), First: old.dictionary.get('First') };
      revision.set(reference(number), stream(content, entries));
    };
    expect(findings(revised(signed, other))).toEqual(found);
  });

  it('an object of an object stream under another index, by which some readers find it', () => {
    const signed = signPdf(madePdf(usualObjects(), { shape: 'OBJECT_STREAMS' }));
    const { crossReference } = new PdfFile(bytesInMemory(signed));
    const entry = crossReference.entry(8);
    if (entry.kind !== 'STREAM') throw new Error('no object of an object stream');
    const withIndex = (index: number): Buffer => withStream(signed, [8, [2, entry.stream, index]]);
    expect(findingOf(withIndex(entry.index))).toBeUndefined();
    expect(findingOf(withIndex(entry.index + 1))).toContain('object 8 cannot be read');
    expect(refusalOf(withIndex(entry.index + 1))).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it('an object that is free in the table of a hybrid revision, and where it was in its stream', () => {
    const signed = signPdf(smallPdf({ page: '/Annots [12 0 R]', objects: ['<< /Subtype /Stamp /Rect [0 0 600 800] >>'] }));
    const row = Buffer.from([1, ...Buffer.from(signed.indexOf('\n12 0 obj').toString(16).padStart(8, '0'), 'hex'), 0, 0]);
    const section = `70 0 obj\n<< /Type /XRef /W [1 4 2] /Index [12 1] /Size 71 /Root 1 0 R /Length 7 >>\nstream\n${row.toString('latin1')}\nendstream\nendobj\n`;
    const hybrid = withTable(Buffer.concat([signed, Buffer.from(section, 'latin1')]), { 12: 'free' }, `71 /XRefStm ${signed.length}`);
    expect(findingOf(hybrid)).toContain('is followed by a hybrid revision');
    expect(refusalOf(hybrid)).toBe('EXISTING_SIGNATURE_INVALID');
  });

  // Readers recover from a wrong length: they look for endstream.
  it.each([
    ['under its number', (content: string) => ({ 5: streamText(content).replace('\nendstream', ' (PAY 999999) Tj\nendstream') })],
    ['that does not end', (content: string) => ({ 5: streamText(content).replace('\nendstream', '') })],
    ['without endobj', (content: string) => ({ 5: `${streamText(content)} q` })],
    ['that nothing refers to', () => ({ 50: streamText('q').replace('\nendstream', ' (PAY 999999) Tj\nendstream') })],
  ])('a stream that is longer than its length says, %s', (_, changes) => {
    const content = 'BT /F1 24 Tf 60 700 Td (PAY 100) Tj ET';
    const signed = signPdf(smallPdf({ content: () => content }));
    expect(findingOf(signed)).toBeUndefined();
    expect(findingOf(withObjects(signed, { 5: streamText(content) }))).toBeUndefined();
    expect(findings(withObjects(signed, changes(content)))).toEqual(found);
  });

  // Some readers know no flags that are written with a point, and show what is hidden.
  it.each([
    ['2', '2.0', /F of a dictionary/],
    ['2.0', '2', /F of a dictionary/],
    ['13 0 R', '13 0 R', /object 13/],
  ])('an integer that is written in another way: %s and %s', (before, after, reason) => {
    const annotation = (flags: string): string => `<< /Subtype /Stamp /Rect [0 0 600 800] /F ${flags} /CA 1 >>`;
    const signed = signPdf(smallPdf({ page: '/Annots [12 0 R]', objects: [annotation(before), '2'] }));
    expect(
      findingOf(withObjects(signed, { 12: annotation(before).replace('/CA 1', '/CA 1.0').replace('[0 0', '[0.0 0') })),
    ).toBeUndefined();
    const changed = withObjects(signed, { 12: annotation(after), 13: '2.0' });
    expect(findingOf(changed)).toMatch(reason);
    const content = 'BT /F1 24 Tf 60 742 Td (Page 1) Tj ET';
    expect(findingOf(withObjects(signed, { 5: streamText(content) }))).toBeUndefined();
    expect(findingOf(withObjects(signed, { 5: streamText(content).replace(/Length \d+/, '$&.0') }))).toContain('object 5');
    expect(refusalOf(changed)).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it('an integer that is written in another way is kept as it is by a later signature', () => {
    const pdf = smallPdf({ page: '/Rotate 90.0 /StructParents 3.0 /Group << /K 1.0 >>' });
    expect(findingOf(signPdf(signPdf(pdf), { validateSignatures: true }))).toBeUndefined();
    expect(
      signPdf(pdf)
        .toString('latin1')
        .match(/Rotate 90\.0/g),
    ).toHaveLength(2);
  });

  // Readers that miss an object search the file for objects, and find this one.
  it.each<readonly [string, (signed: Buffer, hidden: string) => Buffer]>([
    ['in a stream', (signed, hidden) => withObjects(signed, { 8: metadata(hidden) })],
    ['before an object', (signed, hidden) => withTable(Buffer.concat([signed, Buffer.from(hidden)]), {}, 200)],
    ['after much white space', (signed, hidden) => withObjects(signed, { 8: metadata(hidden.replace('0 obj', `0${' '.repeat(300)}obj`)) })],
    [
      'under a number that a later revision leads back',
      (signed, hidden) => withTable(withObjects(signed, { 5: hidden.slice(8, -8) }), { 5: signed.indexOf('\n5 0 obj') + 1 }, 200),
    ],
  ])('an object that the cross-reference does not name: %s', (_, change) => {
    const pdf = smallPdf({ catalog: '/Metadata 8 0 R', page: '/Group 60 0 R' });
    const signed = signPdf(withObjects(pdf, { 8: metadata('<x/>') }));
    expect(findingOf(withObjects(signed, { 8: metadata('no obj, 1 object, 1 2 objects, 5 0 R') }))).toBeUndefined();
    const changed = change(signed, `5 0 obj\n${streamText('BT /F1 24 Tf 60 700 Td (PAY 999999) Tj ET')}\nendobj\n`);
    expect(findingOf(changed)).toContain('signatures of the document are followed by an object');
    expect(refusalOf(changed)).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it('an object that the cross-reference does not name, wherever it stands', () => {
    const signed = signPdf(withObjects(smallPdf({ catalog: '/Metadata 8 0 R' }), { 8: metadata('<x/>') }));
    for (let space = 65_430; space < 65_480; space += 1)
      expect(findingOf(withObjects(signed, { 8: metadata(`${' '.repeat(space)}5 0 obj`) }))).toContain('followed by an object 5');
  });

  // Some readers look for endstream where the length says.
  it.each([3500, 99_999])('a stream whose length leads behind what was signed: %i', (length) => {
    const page = '<< /Type /Page /Parent 2 0 R /Contents 6 0 R >>';
    const bodies = new Map([
      [1, '<< /Type /Catalog /Pages 2 0 R /Metadata 5 0 R >>'],
      [2, '<< /Type /Pages /Kids [4 0 R] /Count 1 /MediaBox [0 0 600 800] >>'],
      [4, page],
      [5, metadata('<x/>')],
      [6, streamText('BT (PAY 100) Tj ET').replace(/\d+/, String(length))],
    ]);
    const signed = signPdf(pdfOf(bodies));
    const later = withObjects(signed, { 5: metadata('BT (PAY 999999) Tj ET'.padEnd(1000)) });
    expect(findingOf(later)).toContain('object 6 reaches into the value of one');
    expect(refusalOf(later)).toBe('EXISTING_SIGNATURE_INVALID');
    const file = new PdfFile(bytesInMemory(later));
    const states = statesSince(bytesInMemory(later), file, signed.length, undefined);
    expect(() => ReferenceScan.of(file, [states], []).checkWhole(states)).toThrow('covers only a part of object 6');
  });

  // Some readers know a filter that others do not, and these then show nothing.
  it.each([
    ['/Filter /AHx', (content: string) => `${Buffer.from(content).toString('hex')}>`],
    ['/Filter /ASCIIHexDecode', (content: string) => `${Buffer.from(content).toString('hex')}>`],
    ['/Filter /Crypt', (content: string) => content],
    ['/DecodeParms << /Predictor 1 >>', (content: string) => content],
  ])('a stream that is written again with another filter: %s', (entries, encoded) => {
    const content = 'BT /F1 24 Tf 60 700 Td (PAY 100) Tj ET';
    const signed = signPdf(smallPdf({ content: () => content }));
    const compressed = streamText(deflateSync(content).toString('latin1'), '/Filter /FlateDecode');
    expect(findingOf(withObjects(signed, { 5: compressed }))).toBeUndefined();
    expect(findings(withObjects(signed, { 5: streamText(encoded(content), entries) }))).toEqual(found);
  });

  it('a page content that only other readers can read, under its number', () => {
    const twice = (amount: string): string => streamText(`BT /F1 24 Tf 60 700 Td (PAY ${amount}) Tj ET`, '/X 1 /X 1');
    const signed = signPdf(withObjects(smallPdf(), { 5: twice('100') }));
    expect(findingOf(signed)).toBeUndefined();
    const pdf = withObjects(signed, { 5: twice('999999') });
    expect([findingOf(pdf) === undefined, refusalOf(pdf)]).toEqual([false, 'EXISTING_SIGNATURE_INVALID']);
    expect(refusalOf(withObjects(signPdf(smallPdf()), { 5: twice('999999') }))).toBe('EXISTING_SIGNATURE_INVALID');
  });

  it('a form that only other readers can read, which leads to what changed', () => {
    const unreadable = formText('/Y Do').replace('/Type', '/X 1 /X 1 /Resources << /XObject << /Y 13 0 R >> >> /Type');
    const pdf = smallPdf({
      page: '/Resources << /XObject << /X 12 0 R >> >>',
      content: () => '/X Do',
      objects: [unreadable, formText('0 0 1 1 re f')],
    });
    const signed = signPdf(pdf);
    expect(findingOf(signed)).toBeUndefined();
    const changed = withObjects(signed, { 13: formText('0 0 600 800 re f') });
    expect(findingOf(changed)).toContain('object 12 cannot be read');
    expect(refusalOf(changed)).toBe('EXISTING_SIGNATURE_INVALID');
  });
});
