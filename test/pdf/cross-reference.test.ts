import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { PdfDictionary, PdfReference, PdfStream } from '../../src/pdf/objects.ts';
import { pages } from '../../src/pdf/pages.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { PdfFile } from '../../src/pdf/pdf-file.ts';
import { textOf } from '../../src/pdf/text-string.ts';
import { madePdf, revised, usualObjects, type MadeOptions } from './made-pdf.ts';
import { countedSource, opened } from './opened.ts';
import { qpdf } from './qpdf.ts';

const objects = usualObjects();
const sound = madePdf(objects);
const startOf = (pdf: Buffer): number => Number(/startxref\s+(\d+)\s+%%EOF\s*$/.exec(pdf.toString('latin1'))?.[1]);

function changed(pdf: Buffer, pattern: RegExp | string, by: string): Buffer {
  const text = pdf.toString('latin1');
  const result = text.replace(pattern, () => by);
  if (result === text) throw new Error('nothing was changed');
  return Buffer.from(result, 'latin1');
}

/** Title of the information dictionary, which is object 15. */
function titleOf(pdf: Uint8Array): string | undefined {
  const file = opened(pdf);
  return textOf(file.get(file.dictionary(new PdfReference(15, 0), 'the information'), 'Title'));
}

const shapes: readonly (readonly [string, MadeOptions])[] = [
  ['a table', {}],
  ['a table with entries of 19 bytes', { entryBytes: 19 }],
  ['a stream', { shape: 'STREAM' }],
  ['a compressed stream', { shape: 'STREAM', isCompressed: true }],
  ['object streams', { shape: 'OBJECT_STREAMS' }],
  ['compressed object streams', { shape: 'OBJECT_STREAMS', isCompressed: true }],
  ['a table and a stream', { shape: 'HYBRID', outside: [1, 2] }],
];

describe('a cross-reference', () => {
  it.each(shapes)('leads to every object: %s', (_name, options) => {
    const file = opened(madePdf(objects, options));
    expect([...pages(file)].map(({ reference }) => reference.number)).toEqual([3, 5, 6]);
    expect(file.crossReference.isHybrid).toBe(options.shape === 'HYBRID');
    expect(file.object(new PdfReference(7, 0))).toBeInstanceOf(PdfStream);
    expect(file.object(new PdfReference(99, 0))).toBeNull();
    expect(file.object(new PdfReference(3, 1))).toBeNull();
    expect(file.object(new PdfReference(0, 65_535))).toBeNull();
  });

  it.each(shapes)('has the newest of many revisions: %s', (_name, options) => {
    let pdf = madePdf(objects, options);
    expect(titleOf(pdf)).toBe('A contract');
    for (let number = 1; number <= 30; number += 1) pdf = revised(pdf, { 15: `<</Title (Revision ${number})>>` }, options);
    expect(titleOf(pdf)).toBe('Revision 30');
    expect(opened(pdf).crossReference.sections).toHaveLength(31);
  });

  it('may change its kind from revision to revision', () => {
    let pdf: Buffer = sound;
    for (const [index, [, options]] of shapes.entries()) pdf = revised(pdf, { 15: `<</Title (${index})>>` }, options);
    expect(titleOf(pdf)).toBe(String(shapes.length - 1));
    expect([...pages(opened(pdf))]).toHaveLength(3);
  });

  it('is read as qpdf writes it, linearised too', () => {
    for (const mode of ['disable', 'generate']) {
      const pdf = qpdf(sound, ['--linearize', `--object-streams=${mode}`]);
      expect([...pages(opened(pdf))]).toHaveLength(3);
      expect(opened(pdf).crossReference.sections).toHaveLength(2);
    }
  });

  it('frees an object in a later revision', () => {
    const freed = changed(revised(sound, { 15: 'null' }), /15 1\n\d{10} 00000 n/, '15 1\n0000000000 00001 f');
    expect(opened(freed).object(new PdfReference(15, 0))).toBeNull();
  });

  it('counts from the header, whatever is before it', () => {
    const file = opened(Buffer.concat([Buffer.from('HTTP/1.1 200 OK\r\n\r\n'), sound]));
    expect(file.base).toBe(19);
    expect([...pages(file)]).toHaveLength(3);
  });

  it('may be behind white space', () => {
    expect(titleOf(changed(sound, /startxref\n\d+/, `startxref\n${startOf(sound) - 1}`))).toBe('A contract');
  });

  it('knows nothing of objects that it does not name: a copy of a page is not shown', () => {
    const copy = '3 0 obj\n<</Type /Page /Parent 2 0 R /Contents 12 0 R>>\nendobj\n';
    const withCopy = Buffer.concat([sound, Buffer.from(`${copy}startxref\n${startOf(sound)}\n%%EOF\n`)]);
    const [page] = pages(opened(withCopy));
    expect(page?.dictionary.get('Contents')).toEqual(new PdfReference(7, 0));
  });

  const withTable = (rows: string): Buffer => changed(sound, /xref\n0 17\n[^t]*/, rows);
  const rowsOf = /xref\n0 17\n([^t]*)/.exec(sound.toString('latin1'))?.[1] ?? '';
  it.each<[string, Buffer, string]>([
    ['that is nowhere', changed(sound, /startxref\n\d+/, 'startxref\n15'), 'no cross-reference where one should be'],
    ['behind the end', changed(sound, /startxref\n\d+/, 'startxref\n999999'), 'behind the end of the file'],
    ['without startxref', changed(sound, 'startxref', 'startxxxx'), 'no startxref'],
    ['before a revision that is cut off', Buffer.concat([sound, Buffer.from('3 0 obj\n<</Type /Page')]), 'a revision that is not complete'],
    ['without an end', changed(sound, '%%EOF', '%%EO'), 'startxref has no offset and %%EOF behind it'],
    ['that leads to itself', changed(sound, '/Size 17', `/Size 17 /Prev ${startOf(sound)}`), 'form a circle'],
    ['whose Prev is nothing', changed(sound, '/Size 17', '/Size 17 /Prev (x)'), 'Prev of a cross-reference section is no offset'],
    ['whose Prev is negative', changed(sound, '/Size 17', '/Size 17 /Prev -1'), 'Prev of a cross-reference section is no offset'],
    ['whose Prev is another object', changed(sound, '/Size 17', '/Size 17 /Prev 15'), 'no cross-reference where one should be'],
    ['whose XRefStm is nothing', changed(sound, '/Size 17', '/Size 17 /XRefStm -1'), 'XRefStm of a trailer is no offset'],
    ['without a trailer', changed(sound, 'trailer', 'trailxr'), 'has no trailer'],
    ['without Size', changed(sound, '/Size 17', ''), 'out of range'],
    ['whose Size is no number', changed(sound, '/Size 17', '/Size 1.5'), 'out of range'],
    ['whose Size is too small', madePdf(objects, { size: 16 }), 'Size of the trailer is 16, but there is an object 16'],
    ['whose Size is far too large', madePdf(objects, { size: 90_000_000 }), 'out of range'],
    ['whose Root is none', changed(sound, '/Root 1 0 R', ''), 'names no catalog'],
    ['with an object twice', withTable(`xref\n0 17\n${rowsOf}16 1\n0000000015 00000 n \n`), 'has object 16 twice'],
    ['with another letter', changed(sound, '00000 n', '00000 m'), 'malformed'],
    ['with entries of 21 bytes', withTable(`xref\n0 17\n${rowsOf.replaceAll('\n', ' \n')}`), 'malformed'],
    ['with an entry that is shifted', changed(sound, / 00000 n \n(\d{10})/, ' 00000 n\n0000000000'), 'malformed'],
    ['with fewer entries', withTable('xref\n0 9999\n'), 'ends too early'],
    ['with numbers that are too large', withTable(`xref\n99999999 17\n${rowsOf}`), 'too large'],
    ['with a generation that is too large', changed(sound, /00000 n/, '99999 n'), 'generation that is too large'],
    ['to another object', changed(sound, '\n3 0 obj', '\n4 0 obj'), 'object 3 is not where the cross-reference says'],
    ['to an object of another generation', changed(sound, '\n3 0 obj', '\n3 1 obj'), 'object 3 is not where the cross-reference says'],
    ['to an object without endobj', changed(sound, '12 0 R]>>\nendobj', '12 0 R]>>\nendobx'), 'does not end with endobj'],
  ])('is refused: one %s', (_name, pdf, message) => {
    const read = (): unknown => [...pages(opened(pdf))];
    expect(read).toThrow(PdfFault);
    expect(read).toThrow(message);
  });

  const stream = madePdf(objects, { shape: 'STREAM' });
  it.each<[string, Buffer, string]>([
    ['with too few entries', changed(stream, '/Index [0 18]', '/Index [0 99]'), 'fewer entries than it says'],
    ['with half a range', changed(stream, '/Index [0 18]', '/Index [0 18 5]'), 'malformed'],
    ['with an object twice', changed(stream, '/Index [0 18]', '/Index [0 9 5 9]'), 'has object 5 twice'],
    ['with fields of no bytes', changed(stream, '/W [1 4 2]', '/W [0 0 0]'), 'malformed'],
    ['with fields that are too wide', changed(stream, '/W [1 4 2]', '/W [1 9 2]'), 'W of a cross-reference stream'],
    ['of another type', changed(stream, '/Type /XRef', '/Type /XRex'), 'no cross-reference where one should be'],
    ['whose length is a reference', changed(stream, /(\/XRef.*)\/Length \d+/, '/XRef /W [1 4 2] /Length 7 0 R'), 'no length of its own'],
  ])('is refused: a stream %s', (_name, pdf, message) => {
    expect(() => opened(pdf)).toThrow(PdfFault);
    expect(() => opened(pdf)).toThrow(message);
  });

  it('is refused where it would take hundreds of megabytes, before it does', () => {
    const bomb = deflateSync(Buffer.alloc(300_000_000));
    const made = madePdf(objects, { shape: 'STREAM' });
    const start = made.length;
    const head = `99 0 obj\n<</Type /XRef /W [1 4 2] /Size 100 /Root 1 0 R /Filter /FlateDecode /Length ${bomb.length}>>\nstream\n`;
    const pdf = Buffer.concat([made, Buffer.from(head), bomb, Buffer.from(`\nendstream\nendobj\nstartxref\n${start}\n%%EOF\n`)]);
    expect(() => opened(pdf)).toThrow('without its filters');
  });

  it('takes little time for hundreds of thousands of subsections', () => {
    let table = 'xref\n';
    for (let number = 0; number < 200_000; number += 1) table += `${2 * number + 100} 1\n0000000000 00001 f \n`;
    const trailer = `trailer\n<</Size 500000 /Root 1 0 R /Prev ${startOf(sound)}>>\nstartxref\n${sound.length}\n%%EOF\n`;
    const file = opened(Buffer.concat([sound, Buffer.from(table + trailer)]));
    for (let number = 0; number < 500_000; number += 1) file.object(new PdfReference(number, 0));
    expect([...pages(file)]).toHaveLength(3);
  });

  it('takes little time for thousands of revisions', () => {
    const pieces: Buffer[] = [sound];
    let [length, previous] = [sound.length, startOf(sound)];
    for (let count = 0; count < 9000; count += 1) {
      const section = Buffer.from(
        `xref\n${100 + 2 * count} 1\n0000000000 00001 f \ntrailer\n<</Size 20000 /Root 1 0 R /Prev ${previous}>>\n`,
      );
      pieces.push(section);
      previous = length;
      length += section.length;
    }
    pieces.push(Buffer.from(`startxref\n${previous}\n%%EOF\n`));
    const file = opened(Buffer.concat(pieces));
    for (let number = 0; number < 20_000; number += 1) file.object(new PdfReference(number, 0));
    expect([...pages(file)]).toHaveLength(3);
  });

  it('has a limit of revisions', () => {
    const pieces: Buffer[] = [sound];
    let [length, previous] = [sound.length, startOf(sound)];
    for (let count = 0; count <= 10_000; count += 1) {
      const section = Buffer.from(`xref\n0 0\ntrailer\n<</Size 17 /Root 1 0 R /Prev ${previous}>>\n`);
      pieces.push(section);
      previous = length;
      length += section.length;
    }
    pieces.push(Buffer.from(`startxref\n${previous}\n%%EOF\n`));
    expect(() => opened(Buffer.concat(pieces))).toThrow('more than 10000 cross-reference sections');
  });
});

describe('an object', () => {
  const packed = madePdf(objects, { shape: 'OBJECT_STREAMS' });
  it.each<[string, Buffer, string]>([
    ['in an object stream that lacks it', changed(packed, 'stream\n1 0 2', 'stream\n1 0 0'), 'is not in the object stream'],
    ['in something else than an object stream', changed(packed, '/Type /ObjStm', '/Type /ObjStx'), 'is no object stream'],
    ['in an object stream without a beginning', changed(packed, '/First', '/Firsx'), 'an object stream is malformed'],
    ['in an object stream with fewer objects', changed(packed, /\/N \d\d/, '/N 99'), 'an object stream is malformed'],
    ['in an object stream that has it twice', changed(packed, 'stream\n1 0 2', 'stream\n1 0 1'), 'is in an object stream twice'],
    [
      'in an object stream at another index',
      changed(packed, '\x02\0\0\0\x11\0\x02', '\x02\0\0\0\x11\0\x03'),
      'is not in the object stream',
    ],
  ])('is refused: one %s', (_name, pdf, message) => {
    const read = (): unknown => [...pages(opened(pdf))];
    expect(read).toThrow(PdfFault);
    expect(read).toThrow(message);
  });

  it('is refused if it leads to itself, or to too many others', () => {
    const chain = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [20 + index, `${21 + index} 0 R`]));
    const file = opened(madePdf({ ...objects, ...chain, 17: '17 0 R', 18: '19 0 R', 19: '18 0 R' }));
    for (const number of [17, 18, 20]) expect(() => file.resolved(new PdfReference(number, 0))).toThrow('leads to too many others');
    expect(file.resolved(new PdfReference(40, 0))).toBeNull();
  });

  it('is refused if object streams need each other for their lengths, however long the chain is', () => {
    const chained = chainedStreams(5000);
    expect(() => opened(chained).object(new PdfReference(20_000, 0))).toThrow(PdfFault);
  });

  it('is refused if what is read would be too much, by objects that overlap', () => {
    const count = 5000;
    const text =
      Array.from({ length: count }, (_, index) => `\n${index + 20} 0 obj(`).join('') +
      `${'x'.repeat(300_000)}${')'.repeat(count)} endobj\n`;
    const base = madePdf(objects);
    const at = base.length;
    const offsets = Array.from(text.matchAll(/\n(?=\d+ 0 obj)/g), (match) => at + match.index + 1);
    const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
    const start = at + text.length;
    const tail = `xref\n20 ${count}\n${rows}trailer\n<</Size ${count + 20} /Root 1 0 R /Prev ${startOf(base)}>>\nstartxref\n${start}\n%%EOF\n`;
    const file = opened(Buffer.concat([base, Buffer.from(text + tail)]));
    const readAll = (): void => {
      for (let number = 20; number < count + 20; number += 1)
        try {
          file.object(new PdfReference(number, 0));
        } catch (error) {
          if (error instanceof PdfFault && error.message.includes('in total')) throw error;
        }
    };
    expect(readAll).toThrow('in total');
  });
});

/** Object streams each of which has the length of the one before it. */
function chainedStreams(count: number): Buffer {
  const pieces: Buffer[] = [Buffer.from('%PDF-1.7\n1 0 obj\n<</Type /Catalog>>\nendobj\n')];
  let length = pieces[0]?.length ?? 0;
  const offsets: number[] = [];
  for (let index = 0; index < count; index += 1) {
    const content = `${20_000 + index} 0 9      `;
    const piece = Buffer.from(
      `${100 + index} 0 obj\n<</Type /ObjStm /N 1 /First 8 /Length ${20_001 + index} 0 R>>\nstream\n${content}\nendstream\nendobj\n`,
    );
    offsets.push(length);
    pieces.push(piece);
    length += piece.length;
  }
  const row = (kind: number, second: number): Buffer => Buffer.from([kind, second >> 16, (second >> 8) & 0xff, second & 0xff, 0, 0]);
  const rows = [
    row(0, 0),
    row(1, 9),
    ...offsets.map((offset) => row(1, offset)),
    ...offsets.map((_, index) => row(2, 100 + index)),
    row(1, length),
  ];
  const content = Buffer.concat(rows);
  const index = `[0 2 100 ${count} 20000 ${count} 30000 1]`;
  pieces.push(
    Buffer.from(`30000 0 obj\n<</Type /XRef /W [1 3 2] /Size 30001 /Root 1 0 R /Index ${index} /Length ${content.length}>>\nstream\n`),
  );
  pieces.push(content, Buffer.from(`\nendstream\nendobj\nstartxref\n${length}\n%%EOF\n`));
  return Buffer.concat(pieces);
}

describe('a file of a hundred thousand pages', () => {
  it('is read where its pages are, and not as a whole', () => {
    const kids = Array.from({ length: 100_000 }, (_, index) => `${index + 3} 0 R`).join(' ');
    const made: Record<number, string> = {
      1: '<</Type /Catalog /Pages 2 0 R>>',
      2: `<</Type /Pages /Count 100000 /MediaBox [0 0 9 9] /Kids [${kids}]>>`,
    };
    for (let number = 3; number < 100_003; number += 1) made[number] = `<</Type /Page /Parent 2 0 R /Number ${number}>>`;
    const pdf = madePdf(made);
    expect(pdf.length).toBeGreaterThan(8_000_000);
    for (const order of ['FORWARD', 'BACKWARD'] as const) {
      const { source, bytesRead } = countedSource(pdf);
      const [page] = pages(new PdfFile(source), order);
      expect(page?.reference.number).toBe(order === 'FORWARD' ? 3 : 100_002);
      // The array of the kids has more than a megabyte, which is read some times with windows that grow.
      expect(bytesRead()).toBeLessThan(5_000_000);
    }
    const all = [...pages(opened(pdf))];
    expect(all).toHaveLength(100_000);
    expect(all.at(-1)?.dictionary).toBeInstanceOf(PdfDictionary);
  });
});
