import { deflateSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { decoded } from '../../src/pdf/filters.ts';
import { ObjectParser } from '../../src/pdf/object-parser.ts';
import { PdfDictionary, PdfReference, type PdfObject } from '../../src/pdf/objects.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { WorkLimit } from '../../src/pdf/work-limit.ts';

const parsed = (text: string): PdfObject => new ObjectParser({ bytes: Buffer.from(text, 'latin1'), offset: 0, isLast: true }).object();

/** `objects`: those that references lead to, by their numbers. */
function decodedBy(
  bytes: Uint8Array | string,
  entries: string,
  maxBytes = 1_000_000,
  objects: Readonly<Record<number, string>> = {},
): number[] {
  const dictionary = parsed(`<<${entries}>>`);
  if (!(dictionary instanceof PdfDictionary)) throw new Error('no dictionary');
  const resolved = (object: PdfObject): PdfObject => (object instanceof PdfReference ? parsed(objects[object.number] ?? 'null') : object);
  const encoded = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes;
  return Array.from(decoded(encoded, dictionary, resolved, maxBytes, new WorkLimit({ mustBeQuick: false })));
}
const textBy = (bytes: Uint8Array | string, entries: string): string => Buffer.from(decodedBy(bytes, entries)).toString('latin1');

describe('the filters of a stream', () => {
  it('are eight at most', () => {
    expect(textBy('text', `/Filter [${'/Crypt '.repeat(8)}]`)).toBe('text');
    expect(() => textBy('text', `/Filter [${'/Crypt '.repeat(9)}]`)).toThrow('more than 8 filters');
  });

  it('and their parameters may be objects of their own, in lists, too', () => {
    const encoded = deflateSync(Buffer.of(2, 5, 6, 2, 1, 1));
    const objects = { 1: '/Fl', 2: '<</Predictor 3 0 R /Columns 2>>', 3: '12', 4: '[1 0 R]', 5: '[2 0 R]' };
    for (const entries of [
      '/Filter 1 0 R /DecodeParms 2 0 R',
      '/Filter 4 0 R /DecodeParms 5 0 R',
      '/Filter [1 0 R] /DecodeParms [2 0 R]',
      '/Filter /Fl /DecodeParms <</Predictor 3 0 R /Columns 2>>',
    ])
      expect(decodedBy(encoded, entries, 100, objects)).toEqual([5, 6, 6, 7]);
  });

  it('have each their own parameters', () => {
    const hex = `${deflateSync(Buffer.of(2, 5, 6)).toString('hex')}>`;
    expect(decodedBy(hex, '/Filter [/AHx /Fl] /DecodeParms [null <</Predictor 12 /Columns 2>>]')).toEqual([5, 6]);
    expect(decodedBy(deflateSync(Buffer.from('41>')), '/Filter [/Fl /AHx] /DecodeParms [null <</Predictor 12>>]')).toEqual([0x41]);
  });

  it('may make as many bytes as are allowed', () => {
    expect(decodedBy('text', '/Filter /Crypt', 4)).toHaveLength(4);
    expect(decodedBy(deflateSync(Buffer.alloc(4)), '/Filter /Fl', 4)).toHaveLength(4);
    expect(decodedBy('z'.repeat(50), '/Filter /A85', 200)).toHaveLength(200);
    expect(decodedBy(Buffer.of(129, 1, 185, 1), '/Filter /RL', 200)).toHaveLength(200);
    expect(() => decodedBy(Buffer.of(129, 1, 184, 1), '/Filter /RL', 200)).toThrow('more than 200 bytes');
    expect(decodedBy(deflateSync(Buffer.alloc(0)), '/Filter /Fl', 0)).toEqual([]);
    expect(() => decodedBy(deflateSync(Buffer.alloc(1)), '/Filter /Fl', 0)).toThrow('more than 0 bytes');
  });
});

describe('hexadecimal digits', () => {
  it('end with a sign or with the stream, and lack a zero where they are odd', () => {
    expect(textBy('41 42>43', '/Filter /AHx')).toBe('AB');
    expect(textBy('41>/no digits', '/Filter /AHx')).toBe('A');
    expect(textBy('414', '/Filter /AHx')).toBe('A@');
    expect(textBy('4>', '/Filter /AHx')).toBe('@');
  });
});

describe('base 85', () => {
  it('has groups up to the largest number of four bytes', () => {
    expect(decodedBy('s8W-!~>', '/Filter /A85')).toEqual([255, 255, 255, 255]);
    expect(() => decodedBy('s8W-"~>', '/Filter /A85')).toThrow('a group that is too large');
  });

  it('may have white space between its characters, and ends with a sign', () => {
    expect(textBy('87\ncU\tR D\0]~>no base 85 {}', '/Filter /A85')).toBe(textBy('87cURD]', '/Filter /A85'));
    expect(textBy('87cURD]', '/Filter /A85')).toBe('Hello');
  });

  it.each(['!z!!!!~>', '!!!!v~>', '!!!!\u0001~>', '!!!!\x7f~>'])('has no other characters, nor zeros within a group: %j', (text) => {
    expect(() => decodedBy(text, '/Filter /A85')).toThrow('another character');
  });
});

describe('runs', () => {
  it('have 128 bytes at most, and end with a byte of 128', () => {
    const literal = Buffer.from(Array.from({ length: 128 }, (_, index) => index));
    expect(decodedBy(Buffer.concat([Buffer.of(127), literal]), '/Filter /RL')).toEqual(Array.from(literal));
    expect(decodedBy(Buffer.of(129, 7), '/Filter /RL')).toEqual(Array<number>(128).fill(7));
    expect(decodedBy(Buffer.of(255, 7), '/Filter /RL')).toEqual([7, 7]);
    expect(textBy(Buffer.of(0, 65, 128, 0, 66), '/Filter /RL')).toBe('A');
    expect(decodedBy(Buffer.of(255), '/Filter /RL')).toEqual([0, 0]);
  });
});

describe('LZW', () => {
  /** Codes in the widths that the decoder expects where all but the first one make an entry. */
  function encoded(codes: readonly number[], early = 1): Buffer {
    let bits = '';
    let [width, next, isFirst] = [9, 258, true];
    for (const code of codes) {
      bits += code.toString(2).padStart(width, '0');
      if (code === 256) [width, next, isFirst] = [9, 258, true];
      else {
        if (!isFirst && next < 4096) next += 1;
        isFirst = false;
        if (next + early >= 1 << width && width < 12) width += 1;
      }
    }
    bits = bits.padEnd(Math.ceil(bits.length / 8) * 8, '0');
    return Buffer.from(Array.from({ length: bits.length / 8 }, (_, index) => Number.parseInt(bits.slice(8 * index, 8 * index + 8), 2)));
  }
  const octets = Array.from({ length: 6000 }, (_, index) => (index * index * 7 + index * 3) & 0xff);

  it.each([0, 1])('has codes of 12 bits at most, where its table is full: early change %i', (early) => {
    const entries = `/Filter /LZW /DecodeParms <</EarlyChange ${early}>>`;
    expect(decodedBy(encoded([256, ...octets, 257], early), entries)).toEqual(octets);
    // The last entry of the table is the pair of octets by which it became full.
    const pair = octets.slice(4095 - 258, 4095 - 258 + 2);
    expect(decodedBy(encoded([256, ...octets, 4095, 257], early), entries)).toEqual([...octets, ...pair]);
  });

  it('begins anew behind each code that clears its table', () => {
    const many = [256, ...octets, 256, ...octets.slice(0, 700), 256, 256, 1, 2, 257];
    expect(decodedBy(encoded(many), '/Filter /LZW')).toEqual([...octets, ...octets.slice(0, 700), 1, 2]);
    // The first code behind it makes no entry with the last one before it.
    expect(decodedBy(encoded([256, 65, 66, 256, 67, 258, 257]), '/Filter /LZW')).toEqual([65, 66, 67, 67, 67]);
  });

  it('has no code beyond the next entry', () => {
    expect(decodedBy(encoded([256, 65, 258, 257]), '/Filter /LZW')).toEqual([65, 65, 65]);
    expect(() => decodedBy(encoded([256, 65, 259, 257]), '/Filter /LZW')).toThrow(PdfFault);
    expect(() => decodedBy(encoded([256, 258, 257]), '/Filter /LZW')).toThrow(PdfFault);
    expect(() => decodedBy(encoded([256, 65, 66, 256, 258, 257]), '/Filter /LZW')).toThrow(PdfFault);
  });
});

describe('a predictor of PNG', () => {
  const unpredicted = (rows: readonly number[], entries = '/Columns 2'): number[] =>
    decodedBy(deflateSync(Buffer.from(rows)), `/Filter /Fl /DecodeParms <</Predictor 15 ${entries}>>`);

  it('has the kinds 0 to 4, and one colour at least', () => {
    expect(unpredicted([4, 1, 2])).toEqual([1, 3]);
    expect(() => unpredicted([5, 1, 2])).toThrow('a predictor that PNG does not know');
    expect(() => unpredicted([0, 0, 0], '/Colors 0')).toThrow('out of range');
  });

  it('that is Paeth takes the left one where that is as near as the corner', () => {
    expect(unpredicted([0, 10, 11, 4, 254, 0])).toEqual([10, 11, 8, 8]);
  });
});
