import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ObjectParser, WindowTooShort } from '../../src/pdf/object-parser.ts';
import { objectText } from '../../src/pdf/object-text.ts';
import { isArray, PdfDictionary, PdfName, PdfReference, PdfString, type PdfObject } from '../../src/pdf/objects.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';

function parsed(text: string): PdfObject {
  return new ObjectParser({ bytes: Buffer.from(text, 'latin1'), offset: 0, isLast: true }).object();
}

/** In terms that can be compared. */
function plain(object: PdfObject): unknown {
  if (object instanceof PdfName) return { name: object.text };
  if (object instanceof PdfString) return { string: Buffer.from(object.bytes).toString('latin1') };
  if (object instanceof PdfReference) return { reference: object.toString() };
  if (object instanceof PdfDictionary) return { dictionary: object.entries().map(([key, value]) => [key, plain(value)]) };
  return isArray(object) ? object.map(plain) : object;
}

describe('an object', () => {
  it.each<[string, unknown]>([
    ['null', null],
    ['true', true],
    [' % a comment\r\n\0\f\tfalse ', false],
    ['0', 0],
    ['+17', 17],
    ['-98', -98],
    ['34.5', 34.5],
    ['-.002', -0.002],
    ['4.', 4],
    ['+.5', 0.5],
    ['0000000012', 12],
    ['100000000000000000000000000000', 1e29],
    ['/Name', { name: 'Name' }],
    ['/', { name: '' }],
    ['/A#42C#20', { name: 'ABC ' }],
    ['/A#4', { name: 'A#4' }],
    ['/A#ZZ', { name: 'A#ZZ' }],
    ['/@;_$*1.2|~', { name: '@;_$*1.2|~' }],
    ['/\xe9', { name: '\xe9' }],
    ['()', { string: '' }],
    ['(a (nested) one)', { string: 'a (nested) one' }],
    [String.raw`(\n\r\t\b\f\(\)\\\x)`, { string: '\n\r\t\b\f()\\x' }],
    [String.raw`(\53\053\0053\400\8)`, { string: '++\x053\x008' }],
    ['(a\\\nb\\\r\nc\\\rd)', { string: 'abcd' }],
    ['(a\nb\r\nc\rd)', { string: 'a\nb\nc\nd' }],
    ['(a\\\\)', { string: 'a\\' }],
    ['<>', { string: '' }],
    ['<48 65\n6C6c6F>', { string: 'Hello' }],
    ['<901FA>', { string: '\x90\x1f\xa0' }],
    ['12 0 R', { reference: '12 0 R' }],
    ['12%c\n0\r\nR', { reference: '12 0 R' }],
    ['[]', []],
    ['[1 2 R]', [{ reference: '1 2 R' }]],
    ['[1 2 3 R 4/A(b)<63>[null]true]', [1, { reference: '2 3 R' }, 4, { name: 'A' }, { string: 'b' }, { string: 'c' }, [null], true]],
    ['[1 0 0 1 0 0]', [1, 0, 0, 1, 0, 0]],
    ['[1 0 Rx]', 'malformed'],
    ['<<>>', { dictionary: [] }],
    [
      '<</A/B/C<</D 1 0 R>>/E null>>',
      {
        dictionary: [
          ['A', { name: 'B' }],
          ['C', { dictionary: [['D', { reference: '1 0 R' }]] }],
          ['E', null],
        ],
      },
    ],
    [
      '<</__proto__ 1/constructor 2>>',
      {
        dictionary: [
          ['__proto__', 1],
          ['constructor', 2],
        ],
      },
    ],
  ])('is read as what it says: %j', (text, expected) => {
    if (expected === 'malformed') expect(() => parsed(text)).toThrow(PdfFault);
    else expect(plain(parsed(text))).toEqual(expected);
  });

  it.each([
    ['', 'the file ends'],
    ['%', 'the file ends'],
    ['nul', 'no object'],
    ['nullx', 'no object'],
    ['endobj', 'no object'],
    [']', 'no object'],
    ['>>', 'no object'],
    [')', 'no object'],
    ['{', 'no object'],
    ['--1', 'malformed'],
    ['1.2.3', 'malformed'],
    ['1e3', 'malformed'],
    ['0x1', 'malformed'],
    ['.', 'malformed'],
    ['+', 'malformed'],
    ['9'.repeat(65), 'malformed'],
    ['(a', 'does not end'],
    ['(a\\)', 'does not end'],
    ['(a\\', 'does not end'],
    ['(()', 'does not end'],
    ['<41', 'does not end'],
    ['<4G>', 'another character'],
    ['<41 <42>', 'another character'],
    ['[1', 'the file ends'],
    ['<</A 1', 'no name where a key should be'],
    ['<</A', 'the file ends'],
    ['<</A>>', 'no object'],
    ['<<1 2>>', 'no name where a key should be'],
    ['<</A 1>', 'no name where a key should be'],
    ['<</A 1/B 2/A 3>>', 'a key twice'],
    ['<</A 1/#41 2>>', 'a key twice'],
    ['<</A null/A 1>>', 'a key twice'],
    [`/${'A'.repeat(5000)}`, 'too long'],
    ['['.repeat(101), 'inside each other'],
    ['<</A '.repeat(101), 'inside each other'],
    ['[<</A '.repeat(51), 'inside each other'],
  ])('is refused if it is none: %j', (text, message) => {
    expect(() => parsed(text)).toThrow(PdfFault);
    expect(() => parsed(text)).toThrow(message);
  });

  it('may be a hundred deep', () => {
    expect(plain(parsed(`${'['.repeat(100)}${']'.repeat(100)}`))).toBeInstanceOf(Array);
  });

  it.each([
    ['arrays', '[]'],
    ['dictionaries', '<<>>'],
    ['strings', '()'],
    ['names', '/A '],
    ['references', '1 0 R '],
  ])('is refused if it would take much memory: %s', (_name, value) => {
    expect(() => parsed(`[${value.repeat(9_000_000 / value.length)}]`)).toThrow('too many values');
  });

  it('is refused if its strings are long together, each with 160 bytes beside its own', () => {
    // An array takes 64 bytes, and an object 64 MiB.
    const left = 64 * 1024 * 1024 - 64 - 2 * 160;
    const strings = (bytes: number): string => `[(${'x'.repeat(left / 2)})<${'00'.repeat(bytes)}>]`;
    expect(parsed(strings(left / 2))).toHaveLength(2);
    expect(() => parsed(strings(left / 2 + 1))).toThrow('too many values');
  });

  it('may be an array of a million numbers', () => {
    expect(parsed(`[${'7 '.repeat(1_000_000)}]`)).toHaveLength(1_000_000);
  });

  it('is the same however far its window goes, unless it is too short', () => {
    const text = String.raw`<</A[1 2 0 R (a\(\0531)<4142>/N#41 .5 true]/B null %x` + '\n>>  ';
    const whole = plain(parsed(text));
    for (let length = 0; length <= text.length; length += 1) {
      const parser = new ObjectParser({ bytes: Buffer.from(text.slice(0, length), 'latin1'), offset: 0, isLast: false });
      if (length < text.trimEnd().length) expect(() => parser.object(), `length ${length}`).toThrow(WindowTooShort);
      else expect(plain(parser.object())).toEqual(whole);
    }
  });

  it.each(['/Name', '/', '/A#4', '12', '-1.5', '12 0', '12 0 R', 'true', 'null', '(a)', '(a', '<41', '<', '<<', '[1', '% x'])(
    'is not taken for another one if its window ends behind %j',
    (text) => {
      const parser = new ObjectParser({ bytes: Buffer.from(text, 'latin1'), offset: 0, isLast: false });
      if (text === '(a)') expect(plain(parser.object())).toEqual({ string: 'a' });
      else expect(() => parser.object()).toThrow(WindowTooShort);
    },
  );
});

const key = fc.string({ unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)), maxLength: 12 });
const { object } = fc.letrec<{ object: PdfObject }>((tie) => ({
  object: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(null, true, false),
    fc.integer(),
    fc.bigInt({ min: 10n ** 20n, max: 10n ** 40n }).map(Number),
    fc.integer().map((value) => value / 1000),
    key.map((text) => new PdfName(text)),
    fc.uint8Array().map((bytes) => new PdfString(bytes)),
    fc.tuple(fc.nat(), fc.nat({ max: 65_535 })).map(([number, generation]) => new PdfReference(number, generation)),
    fc.array(tie('object'), { maxLength: 5 }),
    fc.uniqueArray(fc.tuple(key, tie('object')), { maxLength: 5, selector: ([name]) => name }).map((entries) => new PdfDictionary(entries)),
  ),
}));

describe('a written object', () => {
  it('has integers with a point where they were written with one, since some readers do not take them for integers', () => {
    const text = '<</A 2.0/B 2/C 2.5/D%1.0\n3/E -4./F[1.0]/G<</H 1.0>>/I(1.0)>>';
    const dictionary = new ObjectParser({ bytes: Buffer.from(text), offset: 0, isLast: true }).object();
    if (!(dictionary instanceof PdfDictionary)) throw new Error('no dictionary');
    expect(objectText(dictionary)).toBe('<</A 2.0/B 2/C 2.5/D 3/E -4.0/F [1]/G <</H 1.0>>/I (1.0)>>');
    expect(objectText(dictionary.with({ A: 5 }))).toContain('/A 5/B');
  });

  it('is read as what it was', () => {
    fc.assert(
      fc.property(object, (one) => {
        expect(plain(parsed(`${objectText(one)} `))).toEqual(plain(one));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    [1e-7, '0.0000001'],
    [1e21, '1000000000000000000000'],
    [-0, '0'],
    [1 / 3, '0.3333333333333333'],
  ])('has no exponent: %d', (value, text) => {
    expect(objectText(value)).toBe(text);
  });
});
