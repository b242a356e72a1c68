import { describe, expect, it } from 'vitest';
import { bytesInMemory } from '../../src/asn1/byte-source.ts';
import { FileBytes } from '../../src/pdf/file-bytes.ts';
import { PdfDictionary, PdfReference, type PdfObject } from '../../src/pdf/objects.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { streamBytes } from '../../src/pdf/stream-bytes.ts';
import { WorkLimit } from '../../src/pdf/work-limit.ts';

/** Reads a stream that begins behind `x` in a file. */
function read(text: string, length: PdfObject, { entries = {}, maxBytes = 1000 } = {}): string {
  const bytes = new FileBytes(bytesInMemory(Buffer.from(`x${text}`, 'latin1')), new WorkLimit({ mustBeQuick: false }));
  const encoded = { offset: 1, reference: new PdfReference(20, 0) };
  return Buffer.from(streamBytes(bytes, { dictionary: PdfDictionary.of(entries), encoded, length }, maxBytes)).toString('latin1');
}

describe('a stream of a file', () => {
  it.each(['endstream', '\nendstream', '\r\n endstream\n', '\0\t\fendstream\rendobj', 'endstream%', 'endstream '])(
    'ends where its length says, before %j',
    (end) => {
      expect(read(`abc${end}`, 3)).toBe('abc');
      expect(read(end, 0)).toBe('');
    },
  );

  it.each(['', 'd endstream', '\nendstrea', 'endstreams', 'endstream/A', 'endobj', `${' '.repeat(40)}endstream`])(
    'is refused where it does not: before %j',
    (end) => {
      expect(() => read(`abc${end}`, 3)).toThrow('does not end where its length says');
    },
  );

  it.each<readonly [string, PdfObject]>([
    ['none', null],
    ['a negative one', -1],
    ['a part of one', 1.5],
    ['one beyond the file', 13],
  ])('is refused if its length is %s', (_, length) => {
    expect(() => read('abcendstream', length)).toThrow(PdfFault);
    expect(() => read('abcendstream', length)).toThrow('no length, or a wrong one');
  });

  it('is refused in another file, and if it is far larger than it may be without its filters', () => {
    expect(() => read('abcendstream', 3, { entries: { F: 1 } })).toThrow('in another file');
    expect(read(`${'a'.repeat(1044)}endstream`, 1044, { maxBytes: 10 })).toHaveLength(1044);
    expect(() => read(`${'a'.repeat(1045)}endstream`, 1045, { maxBytes: 10 })).toThrow('more than 20 bytes');
  });
});
