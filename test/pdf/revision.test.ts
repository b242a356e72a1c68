import { describe, expect, it } from 'vitest';
import { PdfDictionary, PdfHole, PdfName, PdfReference, PdfStream } from '../../src/pdf/objects.ts';
import { pages } from '../../src/pdf/pages.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { Revision } from '../../src/pdf/revision.ts';
import { textString } from '../../src/pdf/text-string.ts';
import { qpdfFindings } from '../support/pdf-judges.ts';
import { madePdf, revised, usualObjects, type MadeOptions } from './made-pdf.ts';
import { opened } from './opened.ts';
import { qpdf } from './qpdf.ts';

const objects = usualObjects();
const id = '/ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]';
const trailer = `/Info 15 0 R ${id}`;

/** Changes the first page and adds objects; other numbers than the next ones are among them. */
function changed(pdf: Buffer): Buffer {
  const file = opened(pdf);
  const revision = new Revision(file);
  const [page] = pages(file);
  if (page === undefined) throw new Error('no page');
  const content = revision.add(new PdfStream(new PdfDictionary(), Buffer.from('0 0 10 10 re f')));
  revision.set(page.reference, page.dictionary.with({ Contents: content, Rotate: 180 }));
  const info = file.trailer.get('Info');
  if (info instanceof PdfReference) revision.set(info, PdfDictionary.of({ Title: textString('Changed') }));
  return Buffer.concat([pdf, revision.write().bytes]);
}

const files: readonly (readonly [string, Buffer, 'TABLE' | 'STREAM'])[] = [
  ...(
    [
      ['a table', { trailer }, 'TABLE'],
      ['a table with entries of 19 bytes', { trailer, entryBytes: 19 }, 'TABLE'],
      ['a stream', { trailer, shape: 'STREAM' }, 'STREAM'],
      ['object streams', { trailer, shape: 'OBJECT_STREAMS', isCompressed: true }, 'STREAM'],
      ['a table and a stream', { trailer, shape: 'HYBRID', outside: [1, 2] }, 'TABLE'],
    ] as readonly (readonly [string, MadeOptions, 'TABLE' | 'STREAM'])[]
  ).map(([name, options, kind]) => [name, madePdf(objects, options), kind] as const),
  ['what qpdf linearised', qpdf(madePdf(objects, { trailer }), ['--linearize']), 'TABLE'],
  ['what qpdf linearised with streams', qpdf(madePdf(objects, { trailer }), ['--linearize', '--object-streams=generate']), 'STREAM'],
  [
    'a revision with a stream after a table',
    revised(madePdf(objects, { trailer }), { 16: 'null' }, { trailer, shape: 'STREAM' }),
    'STREAM',
  ],
];

describe('a revision', () => {
  it.each(files)('is appended to %s: the file stays as it is, and is sound', (_name, pdf, kind) => {
    let made = pdf;
    for (let count = 1; count <= 3; count += 1) {
      const before = made;
      made = changed(before);
      expect(made.subarray(0, before.length).equals(before)).toBe(true);
      const file = opened(made);
      expect(file.crossReference.sections[0]?.kind).toBe(kind);
      expect(file.trailer.get('Prev')).toBe(opened(before).crossReference.sections[0]?.offset);
      expect(file.trailer.has('XRefStm')).toBe(false);
      const [page, ...others] = pages(file);
      expect([page?.rotation, others.length]).toEqual([180, 2]);
      expect(file.array(file.trailer.get('ID'), 'ID')).toHaveLength(2);
    }
    // Entries of 19 bytes are a fault that qpdf does not mind.
    expect(qpdfFindings(made)).toEqual(qpdfFindings(pdf));
  });

  it('keeps the first ID and changes the second', () => {
    const pdf = madePdf(objects, { trailer });
    const hex = (bytes: Buffer): RegExpMatchArray[] => Array.from(bytes.toString('latin1').matchAll(/\/ID \[<(\w+)> <(\w+)>\]/g));
    const [one, two, three] = hex(changed(changed(pdf)));
    expect([two?.[1], three?.[1]]).toEqual([one?.[1], one?.[1]]);
    expect(new Set([one?.[2], two?.[2], three?.[2]]).size).toBe(3);
  });

  it('begins on a line of its own', () => {
    const pdf = madePdf(objects);
    expect(qpdfFindings(changed(pdf.subarray(0, -1)))).toEqual([]);
    expect(
      changed(pdf.subarray(0, -1))
        .subarray(pdf.length - 1, pdf.length)
        .toString(),
    ).toBe('\n');
  });

  it('counts from the header', () => {
    const made = changed(Buffer.concat([Buffer.from('12345\n'), madePdf(objects)]));
    expect([...pages(opened(made))][0]?.rotation).toBe(180);
  });

  it('keeps the generations of what it changes', () => {
    const pdf = Buffer.from(
      madePdf({ ...objects, 1: '<</Type /Catalog /Pages 2 0 R>>' })
        .toString('latin1')
        .replace(/\n15 0 obj/, '\n15 3 obj')
        .replace(/(\d{10}) 00000 n( \n\d{10} 00000 n \ntrailer)/, '$1 00003 n$2'),
      'latin1',
    );
    const revision = new Revision(opened(pdf));
    revision.set(new PdfReference(15, 3), PdfDictionary.of({ Title: textString('Changed') }));
    const made = opened(Buffer.concat([pdf, revision.write().bytes]));
    expect(made.object(new PdfReference(15, 3))).toBeInstanceOf(PdfDictionary);
    expect(made.object(new PdfReference(15, 0))).toBeNull();
  });

  it('gives new objects no number that a reference of the file leads to', () => {
    const pdf = madePdf({ ...objects, 9: '<</Fields [40 0 R 10 0 R] /XFA 30 0 R>>' });
    const file = opened(pdf);
    expect(file.resolved(new PdfReference(40, 0))).toBeNull();
    const revision = new Revision(file);
    const added = revision.add(new PdfName('new'));
    expect(added.number).toBe(41);
    revision.set(new PdfReference(50, 0), null);
    expect(revision.add(null).number).toBe(51);
    expect(qpdfFindings(Buffer.concat([pdf, revision.write().bytes]))).toEqual([]);
    expect(() => file.resolved(new PdfReference(90_000_000, 0))).toThrow('leads to no object that can be');
  });

  it.each([new PdfReference(0, 65_535), new PdfReference(5, 70_000)])('has no object that cannot be: %s', (reference) => {
    expect(() => {
      new Revision(opened(madePdf(objects))).set(reference, null);
    }).toThrow(PdfFault);
  });

  it('says where its holes are', () => {
    const pdf = madePdf(objects);
    const revision = new Revision(opened(pdf));
    const hole = new PdfHole('<0000>');
    revision.add(PdfDictionary.of({ A: hole, B: 1 }));
    const { bytes, holes } = revision.write();
    const at = holes.get(hole) ?? 0;
    expect(Buffer.from(bytes).toString('latin1', at - pdf.length - 3, at - pdf.length + 6)).toBe('/A <0000>'.slice(0, 9));
  });
});
