import { deflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decoded } from '../../src/pdf/filters.ts';
import { ObjectParser } from '../../src/pdf/object-parser.ts';
import { PdfDictionary } from '../../src/pdf/objects.ts';
import { PdfFault } from '../../src/pdf/pdf-fault.ts';
import { NotQuick, WorkLimit } from '../../src/pdf/work-limit.ts';

function decodedBy(bytes: Uint8Array, entries: string, maxBytes = 1_000_000, work = new WorkLimit({ mustBeQuick: false })): Buffer {
  const dictionary = new ObjectParser({ bytes: Buffer.from(`<<${entries}>>`, 'latin1'), offset: 0, isLast: true }).object();
  if (!(dictionary instanceof PdfDictionary)) throw new Error('no dictionary');
  return Buffer.from(decoded(bytes, dictionary, (object) => object, maxBytes, work));
}

/** LZW as ISO 32000-2, 7.4.4 describes it, with `early` 1 or 0. */
function lzwOf(bytes: Uint8Array, early: number): Buffer {
  let bits = '';
  let table = new Map<string, number>();
  let width = 9;
  let next = 258;
  const write = (code: number): void => {
    bits += code.toString(2).padStart(width, '0');
  };
  const clear = (): void => {
    write(256);
    table = new Map(Array.from({ length: 256 }, (_, byte) => [String.fromCharCode(byte), byte]));
    width = 9;
    next = 258;
  };
  clear();
  let held = '';
  for (const byte of bytes) {
    const longer = held + String.fromCharCode(byte);
    if (table.has(longer)) {
      held = longer;
      continue;
    }
    write(table.get(held) ?? 0);
    table.set(longer, next);
    next += 1;
    // The decoder has one entry less at this moment.
    if (next - 1 + early >= 1 << width && width < 12) width += 1;
    held = String.fromCharCode(byte);
    if (next >= 4094) {
      write(table.get(held) ?? 0);
      held = '';
      clear();
    }
  }
  if (held !== '') {
    write(table.get(held) ?? 0);
    if (next + early >= 1 << width && width < 12) width += 1;
  }
  write(257);
  bits = bits.padEnd(Math.ceil(bits.length / 8) * 8, '0');
  return Buffer.from(Array.from({ length: bits.length / 8 }, (_, index) => Number.parseInt(bits.slice(8 * index, 8 * index + 8), 2)));
}

function base85Of(bytes: Uint8Array): Buffer {
  let text = '';
  for (let at = 0; at < bytes.length; at += 4) {
    const group = Buffer.alloc(4);
    group.set(bytes.subarray(at, at + 4));
    const count = Math.min(4, bytes.length - at);
    let value = group.readUInt32BE();
    const digits = Array.from({ length: 5 }, () => {
      const digit = value % 85;
      value = Math.floor(value / 85);
      return String.fromCharCode(33 + digit);
    }).toReversed();
    text += count === 4 && group.readUInt32BE() === 0 ? 'z' : digits.slice(0, count + 1).join('');
  }
  return Buffer.from(`${text}~>`);
}

function runsOf(bytes: Uint8Array): Buffer {
  const output: number[] = [];
  for (let at = 0; at < bytes.length;) {
    let run = 1;
    while (run < 128 && bytes[at + run] === bytes[at]) run += 1;
    if (run > 1) output.push(257 - run, bytes[at] ?? 0);
    else output.push(0, bytes[at] ?? 0);
    at += run;
  }
  return Buffer.from([...output, 128]);
}

/** Data with repetitions, as files have them. */
const data = fc.oneof(
  fc.uint8Array({ maxLength: 3000 }),
  fc
    .array(fc.tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 1, max: 400 })), { maxLength: 60 })
    .map((runs) => Uint8Array.from(runs.flatMap(([byte, count]) => Array<number>(count).fill(byte)))),
  fc
    .tuple(fc.uint8Array({ minLength: 1, maxLength: 7 }), fc.integer({ min: 1, max: 3000 }))
    .map(([part, count]) => Uint8Array.from({ length: part.length * count }, (_, index) => part[index % part.length] ?? 0)),
);

describe('a filter', () => {
  it.each<[string, string, (bytes: Uint8Array) => Buffer]>([
    ['FlateDecode', '/Filter /FlateDecode', (bytes) => deflateSync(bytes)],
    ['its short name', '/Filter /Fl', (bytes) => deflateSync(bytes)],
    ['LZWDecode', '/Filter /LZWDecode', (bytes) => lzwOf(bytes, 1)],
    ['LZWDecode without EarlyChange', '/Filter /LZWDecode /DecodeParms <</EarlyChange 0>>', (bytes) => lzwOf(bytes, 0)],
    ['ASCII85Decode', '/Filter /ASCII85Decode', base85Of],
    [
      'ASCIIHexDecode',
      '/Filter /ASCIIHexDecode',
      (bytes) => Buffer.from(`${Buffer.from(bytes).toString('hex').replaceAll(/(..)/g, '$1\n')}>`),
    ],
    ['RunLengthDecode', '/Filter /RunLengthDecode', runsOf],
    ['several', '/Filter [/A85 /RL /Fl]', (bytes) => base85Of(runsOf(deflateSync(bytes)))],
    ['none', '', (bytes) => Buffer.from(bytes)],
    ['Crypt', '/Filter [/Crypt] /DecodeParms [<</Name /Identity>>]', (bytes) => Buffer.from(bytes)],
  ])('undoes what an encoder did: %s', (_name, entries, encode) => {
    fc.assert(
      fc.property(data, (bytes) => {
        expect(decodedBy(encode(bytes), entries).equals(bytes)).toBe(true);
      }),
      { numRuns: 60 },
    );
  });

  it('of LZW decodes the last code of a stream that ends with it', () => {
    // Clear, and seven octets: eight codes of nine bits, and no end of data.
    const octets = [1, 2, 3, 4, 5, 6, 7];
    const bits = [256, ...octets].map((code) => code.toString(2).padStart(9, '0')).join('');
    const bytes = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
    expect(bytes).toHaveLength(9);
    expect([...decodedBy(bytes, '/Filter /LZWDecode')]).toEqual(octets);
  });

  it('undoes the predictors of PNG, of any shape', () => {
    fc.assert(
      fc.property(
        fc.record({
          colors: fc.integer({ min: 1, max: 4 }),
          bits: fc.constantFrom(1, 2, 4, 8, 16),
          columns: fc.integer({ min: 1, max: 40 }),
          rows: fc.integer({ min: 0, max: 12 }),
          seed: fc.nat(),
        }),
        ({ colors, bits, columns, rows, seed }) => {
          const rowBytes = Math.ceil((colors * bits * columns) / 8);
          const pixelBytes = Math.max(1, (colors * bits) >> 3);
          const plain = Buffer.from(Array.from({ length: rows * rowBytes }, (_, index) => (index * (seed % 251) + (index >> 3)) & 0xff));
          const lines = Array.from({ length: rows }, (_, row) => predicted(plain, row, rowBytes, pixelBytes, (row + seed) % 5));
          const entries = `/Filter /FlateDecode /DecodeParms <</Predictor 15 /Colors ${colors} /BitsPerComponent ${bits} /Columns ${columns}>>`;
          expect(decodedBy(deflateSync(Buffer.concat(lines)), entries)).toEqual(plain);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('undoes the predictor of TIFF', () => {
    const entries = '/Filter /FlateDecode /DecodeParms <</Predictor 2 /Colors 3 /Columns 2>>';
    expect(Array.from(decodedBy(deflateSync(Buffer.of(1, 2, 3, 1, 1, 1, 250, 0, 0, 10, 0, 0)), entries))).toEqual([
      1, 2, 3, 2, 3, 4, 250, 0, 0, 4, 0, 0,
    ]);
  });

  const pngRow = deflateSync(Buffer.of(1, 5, 1, 7));
  it.each<[string, readonly number[]]>([
    // A row is one column of one byte, unless the parameters say otherwise.
    ['/Predictor 12', [5, 7]],
    ['/Predictor 10 /Columns 3', [5, 6, 13]],
    ['/Predictor 15 /Columns 1000000', [5, 6, 13]],
    ['/Predictor 15 /Colors 32', [5, 1, 7]],
    ['/Predictor 15 /BitsPerComponent 16 /Columns 2', [5, 1, 12]],
    ['/Predictor 15 /BitsPerComponent 1 /Columns 17', [5, 6, 13]],
    ['/Predictor 1 /Columns 0', [1, 5, 1, 7]],
    ['/Colors 33', [1, 5, 1, 7]],
    ['/Predictor (12)', [1, 5, 1, 7]],
    ['/Predictor 2', [1, 5, 1, 7]],
    ['/Predictor 2 /Columns 4', [1, 6, 7, 14]],
  ])('undoes a predictor with %s', (parameters, expected) => {
    expect(Array.from(decodedBy(pngRow, `/Filter /FlateDecode /DecodeParms <<${parameters}>>`))).toEqual(expected);
  });

  it.each([
    ...['/Predictor 12 /Columns 0', '/Predictor 12 /Columns 1000001', '/Predictor 12 /Colors 0', '/Predictor 12 /Colors 33'],
    ...['/Predictor 12 /BitsPerComponent 3', '/Predictor 3', '/Predictor 9', '/Predictor 2 /BitsPerComponent 16'],
  ])('refuses a predictor with %s', (parameters) => {
    expect(() => decodedBy(pngRow, `/Filter /FlateDecode /DecodeParms <<${parameters}>>`)).toThrow(PdfFault);
  });

  it('takes no more memory for a row that is longer than the data', () => {
    const entries = '/Filter /FlateDecode /DecodeParms <</Predictor 15 /Colors 32 /BitsPerComponent 16 /Columns 1000000>>';
    expect(decodedBy(deflateSync(Buffer.of(0, 1, 2)), entries)).toEqual(Buffer.of(1, 2));
  });

  const bomb = deflateSync(Buffer.alloc(50_000_000));
  it.each<[string, Uint8Array, string, string]>([
    ['compressed', bomb, '/Filter /FlateDecode', 'more than 1000000 bytes'],
    ['compressed twice', deflateSync(bomb), '/Filter [/FlateDecode /FlateDecode]', 'more than 1000000 bytes'],
    ['of runs', Buffer.alloc(18_000, Buffer.of(129, 65)), '/Filter /RunLengthDecode', 'more than 1000000 bytes'],
    ['of zeros in base 85', Buffer.alloc(300_000, 'z'), '/Filter /ASCII85Decode', 'more than 1000000 bytes'],
    ['in LZW', lzwOf(Buffer.alloc(100_000), 1), '/Filter /LZWDecode', 'more than 50000 bytes'],
    ['without a filter', Buffer.alloc(1_000_001), '/Filter [/Crypt]', 'more than 1000000 bytes'],
  ])('stops at its limit: data %s', (_name, bytes, entries, message) => {
    expect(() => decodedBy(bytes, entries, Number(/\d+/.exec(message)?.[0]))).toThrow(message);
  });

  it('is not undone where that is not quick, and must be', () => {
    const bytes = deflateSync(Buffer.alloc(1_000_000));
    expect(() => decodedBy(bytes, '/Filter /Fl', 2_000_000, new WorkLimit({ mustBeQuick: true }))).toThrow(NotQuick);
    expect(() => decodedBy(bytes, '/Filter /Fl', 1000, new WorkLimit({ mustBeQuick: true }))).toThrow(PdfFault);
  });

  it('makes no more than a file may take in total', () => {
    const work = new WorkLimit({ mustBeQuick: false });
    const bytes = deflateSync(Buffer.alloc(200_000_000));
    const all = (): void => {
      for (let count = 0; count < 6; count += 1) decodedBy(bytes, '/Filter /FlateDecode', 300_000_000, work);
    };
    // The last one may have what is left.
    expect(all).toThrow(/in total|without its filters/);
    expect(work.decodableBytes).toBeLessThan(200_000_000);
  });

  it('that fails takes nothing of what others may make, unless the file has less left than the stream may have', () => {
    const work = new WorkLimit({ mustBeQuick: false });
    const left = work.decodableBytes;
    for (const [bytes, maxBytes] of [
      [Buffer.from('789c0000', 'hex'), 1000],
      [bomb, 1000],
      [bomb, left],
    ] as const)
      expect(() => decodedBy(bytes.subarray(0, bytes.length - 9), '/Filter /Fl', maxBytes, work)).toThrow(PdfFault);
    expect(work.decodableBytes).toBe(left);
    work.decoded(left - 1000);
    expect(() => decodedBy(bomb, '/Filter /Fl', 1001, work)).toThrow('in total');
    expect(work.decodableBytes).toBe(-1);
  });

  it.each<[string, string, string]>([
    ['damaged', '789c0000', '/Filter /FlateDecode'],
    ['cut off', deflateSync(Buffer.alloc(1000, 'abc')).subarray(0, 8).toString('hex'), '/Filter /FlateDecode'],
    ['that is not there', '', '/Filter /constructor'],
    ['of a picture', '', '/Filter /DCTDecode'],
    ['that is no name', '', '/Filter 1'],
    ['nine times', '', `/Filter [${'/AHx '.repeat(9)}]`],
    ['with parameters that are no dictionary', '', '/Filter /Fl /DecodeParms 1'],
    ['with a digit that is none', '3031673e', '/Filter /AHx'],
    ['with a group that is too large', Buffer.from('uuuuu~>').toString('hex'), '/Filter /A85'],
    ['with half a group', Buffer.from('!~>').toString('hex'), '/Filter /A85'],
    ['with another character', Buffer.from('!\xff!!!~>', 'latin1').toString('hex'), '/Filter /A85'],
    ['with a code before its time', 'ffff', '/Filter /LZW'],
    ['with a predictor that PNG does not know', deflateSync(Buffer.of(9, 1)).toString('hex'), '/Filter /Fl /DecodeParms <</Predictor 12>>'],
    ['with no columns', deflateSync(Buffer.of(0, 1)).toString('hex'), '/Filter /Fl /DecodeParms <</Predictor 12 /Columns 0>>'],
  ])('is refused: one %s', (_name, hex, entries) => {
    expect(() => decodedBy(Buffer.from(hex, 'hex'), entries)).toThrow(PdfFault);
  });
});

/** Returns a row as PNG predicts it. */
function predicted(plain: Buffer, row: number, rowBytes: number, pixelBytes: number, kind: number): Buffer {
  const line = Buffer.alloc(rowBytes + 1);
  line[0] = kind;
  for (let at = 0; at < rowBytes; at += 1) {
    const here = row * rowBytes + at;
    const left = at < pixelBytes ? 0 : (plain[here - pixelBytes] ?? 0);
    const up = row === 0 ? 0 : (plain[here - rowBytes] ?? 0);
    const corner = row === 0 || at < pixelBytes ? 0 : (plain[here - rowBytes - pixelBytes] ?? 0);
    const distances = [left, up, corner].map((one) => Math.abs(left + up - corner - one));
    const nearest = [left, up, corner][distances.indexOf(Math.min(...distances))] ?? 0;
    line[at + 1] = ((plain[here] ?? 0) - ([0, left, up, (left + up) >> 1, nearest][kind] ?? 0)) & 0xff;
  }
  return line;
}
