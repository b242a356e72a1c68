import { describe, expect, it } from 'vitest';
import { ObjectParser } from '../../src/pdf/object-parser.ts';
import { objectText } from '../../src/pdf/object-text.ts';
import { PdfDictionary, PdfHole, PdfName, PdfReference, PdfStream, PdfString, type PdfObject } from '../../src/pdf/objects.ts';

const string = (text: string): PdfString => new PdfString(Buffer.from(text, 'latin1'));

describe('an object as text', () => {
  it.each<[PdfObject, string]>([
    [null, 'null'],
    [true, 'true'],
    [false, 'false'],
    [0, '0'],
    [-1.5, '-1.5'],
    [1e21, '1000000000000000000000'],
    [1e-7, '0.0000001'],
    [1.25e-7, '0.000000125'],
    [-2.5e-9, '-0.0000000025'],
    [new PdfName('Name'), '/Name'],
    [new PdfName('A B#(/)%é~!'), '/A#20B#23#28#2f#29#25#e9~!'],
    [new PdfName('a<b>[c]{d}\n'), '/a#3cb#3e#5bc#5d#7bd#7d#0a'],
    [new PdfName(''), '/'],
    [string('plain text ~'), '(plain text ~)'],
    [string('a (b) \\ c'), '(a \\(b\\) \\\\ c)'],
    [string('line\n'), '<6c696e650a>'],
    [string('é'), '<e9>'],
    [string('\x7f'), '<7f>'],
    [string(''), '()'],
    [new PdfReference(12, 3), '12 3 R'],
    [new PdfHole('<0000>'), '<0000>'],
    [[], '[]'],
    [[1, new PdfName('A'), [2, null]], '[1 /A [2 null]]'],
    [PdfDictionary.of({ A: 1, 'B C': [new PdfName('D')], E: PdfDictionary.of({ F: string('x') }) }), '<</A 1/B#20C [/D]/E <</F (x)>>>>'],
    [new PdfDictionary(), '<<>>'],
  ])('%j is %s', (object, text) => {
    expect(objectText(object)).toBe(text);
  });

  it('is read as the same object', () => {
    const object = PdfDictionary.of({
      'A#': [new PdfName('B (c)'), string('a (b\\'), string('\xff\x00'), 0.001, new PdfReference(1, 0), null],
    });
    const bytes = Buffer.from(objectText(object), 'latin1');
    const read = new ObjectParser({ bytes, offset: 0, isLast: true }).object();
    expect(objectText(read)).toBe(objectText(object));
  });

  it('is not that of a stream or of a number that is none', () => {
    expect(() => objectText([new PdfStream(new PdfDictionary(), Buffer.alloc(0))])).toThrow('a stream is an indirect object');
    for (const value of [Infinity, -Infinity, NaN]) expect(() => objectText(value)).toThrow('no infinite numbers');
  });
});
