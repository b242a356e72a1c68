import { describe, expect, it } from 'vitest';
import { PdfReference, PdfStream } from '../../src/pdf/objects.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { placedObject, placeOfValue } from '../../src/pdf/placed-object.ts';
import { madePdf, usualObjects, type MadeObjects, type MadeOptions } from './made-pdf.ts';
import { opened } from './opened.ts';

const made = (objects: MadeObjects, options: MadeOptions = {}): Buffer => madePdf({ ...usualObjects(), ...objects }, options);

/** The text of an object as it is placed in a file, and whether a stream has its length. */
function placed(pdf: Buffer, number: number): readonly [string, boolean] {
  const file = opened(pdf);
  const entry = file.crossReference.entry(number);
  if (entry.kind !== 'FILE') throw new RangeError('the object is not in the file itself');
  const { start, end, hasLength } = placedObject(file, new PdfReference(number, 0), entry.offset);
  return [pdf.toString('latin1', start, end), hasLength];
}

describe('an object', () => {
  it('stands from its number to endobj', () => {
    expect(placed(made({ 20: '<</A (endobj)>>' }), 20)).toEqual(['20 0 obj\n<</A (endobj)>>\nendobj', true]);
    expect(placed(Buffer.concat([Buffer.from('before\n'), made({ 20: '[1]' })]), 20)).toEqual(['20 0 obj\n[1]\nendobj', true]);
  });

  it('that is a stream stands to the end that its length tells', () => {
    const bytes = Buffer.from('a endstream endobj b');
    expect(placed(made({ 20: { entries: '', bytes } }), 20)).toEqual([
      '20 0 obj\n<< /Length 20>>\nstream\na endstream endobj b\nendstream\nendobj',
      true,
    ]);
    expect(placed(made({ 20: '<</Length 0>>\nstream\nendstream\n \t\0endobj' }), 20)[1]).toBe(true);
  });

  it.each([
    ['too small a length', '<</Length 1>>\nstream\nabc\nendstream\nendobj'],
    // Readers that look from where it should end see more of it than others.
    ['too large a length', '<</Length 5>>\nstream\nabc\nendstream endobj more endstream\r\nendobj'],
    ['a negative length', '<</Length -1>>\nstream\nabc\nendstream\nendobj'],
    ['no length', '<</A 1>>\nstream\nabc\nendstream\nendobj'],
    ['a length that is none', '<</Length (3)>>\nstream\nabc\nendstream\nendobj'],
  ])('that is a stream with %s stands to the next end of a stream', (_what, body) => {
    expect(placed(made({ 20: body }), 20)).toEqual([`20 0 obj\n${body}`, false]);
  });

  it('that is a stream without an end takes the rest of the file', () => {
    const pdf = made({ 20: `<</Length 9>>\nstream\n${'a'.repeat(200_000)}` });
    const [text, hasLength] = placed(Buffer.from(pdf.toString('latin1').replaceAll('endstream', 'endstreax'), 'latin1'), 20);
    expect([text.endsWith('%%EOF\n'), hasLength]).toEqual([true, false]);
  });

  it('that is a long stream with a wrong length is searched to its end, wherever that is', () => {
    for (const length of [65_400, 65_500, 65_530, 65_536, 131_060]) {
      const body = `<</Length 1>>\nstream\n${'a'.repeat(length)}\nendstream\nendobj`;
      expect(placed(made({ 20: body }), 20)[0].length).toBe(body.length + '20 0 obj\n'.length);
    }
  });

  it('is not somewhere else', () => {
    const pdf = made({ 20: '[1]' });
    const file = opened(pdf);
    const entry = file.crossReference.entry(20);
    const offset = entry.kind === 'FILE' ? entry.offset : 0;
    for (const reference of [new PdfReference(21, 0), new PdfReference(20, 1)])
      expect(() => placedObject(file, reference, offset)).toThrow(PdfFault);
    expect(() => placedObject(file, new PdfReference(20, 0), offset + 1)).toThrow(PdfFault);
    expect(placedObject(file, new PdfReference(7, 0), pdf.indexOf('7 0 obj')).object).toBeInstanceOf(PdfStream);
  });
});

describe('a value', () => {
  const value = (body: string, keys: readonly string[], options: MadeOptions = {}): string | undefined => {
    const pdf = made({ 20: body }, options);
    const place = placeOfValue(opened(pdf), new PdfReference(20, 0), keys);
    return place === undefined ? undefined : pdf.toString('latin1', place.start, place.end);
  };

  it.each<[string, readonly string[], string | undefined]>([
    ['<</A 1/B <</C (x y)>>>>', ['A'], '1'],
    ['<</A 1/B <</C (x y)>>>>', ['B', 'C'], '(x y)'],
    ['<</A 1/B <</C (x y)>>>>', ['B'], '<</C (x y)>>'],
    ['<</B <</A 2>> /A  3 >>', ['A'], '3'],
    ['<</A /B /B 4>>', ['B'], '4'],
    ['<</#41 5>>', ['A'], '5'],
    ['<</A [1 [2]] /B 1>>', ['A'], '[1 [2]]'],
    ['<</A 1>>', [], '<</A 1>>'],
    ['<</A 1>>', ['B'], undefined],
    ['<</A 1>>', ['A', 'B'], undefined],
    ['<</A null>>', ['A'], undefined],
    ['[1]', ['A'], undefined],
    // A reference leads out of the object.
    ['<</A 7 0 R>>', ['A', 'Length'], undefined],
  ])('of %s at %j is %s', (body, keys, expected) => {
    expect(value(body, keys)).toBe(expected);
  });

  it('in an object stream stands nowhere', () => {
    expect(value('<</A 1>>', ['A'], { shape: 'OBJECT_STREAMS' })).toBeUndefined();
  });
});
