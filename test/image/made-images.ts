import { crc32, deflateSync } from 'node:zlib';

export interface PngOptions {
  readonly width: number;
  readonly height: number;
  readonly bits: number;
  readonly colourType: number;
  /** Of all pixels, row by row. */
  readonly samples: readonly number[];
  readonly palette?: Buffer | undefined;
  /** Content of tRNS. */
  readonly transparency?: Buffer;
  readonly isInterlaced?: boolean;
  /** Chunks that the data are in. */
  readonly parts?: number;
  /** More chunks before the data. */
  readonly chunks?: readonly (readonly [type: string, content: Buffer])[];
  /** Instead of the right data. */
  readonly compressed?: Buffer;
  /** Instead of the right last five bytes of the header. */
  readonly header?: readonly number[];
}

/** Writes a PNG file (PNG, third edition). */
export function pngOf(options: PngOptions): Buffer {
  const { width, height, bits, colourType, palette, transparency, isInterlaced = false, parts = 1, chunks = [] } = options;
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  const rest = options.header ?? [bits, colourType, 0, 0, isInterlaced ? 1 : 0];
  const data = options.compressed ?? deflateSync(rowsOf(options));
  const partBytes = Math.ceil(data.length / parts);
  return Buffer.concat([
    Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    chunk('IHDR', Buffer.concat([size, Buffer.from(rest)])),
    ...chunks.map(([type, content]) => chunk(type, content)),
    ...(palette === undefined ? [] : [chunk('PLTE', palette)]),
    ...(transparency === undefined ? [] : [chunk('tRNS', transparency)]),
    ...Array.from({ length: parts }, (_, index) => chunk('IDAT', data.subarray(index * partBytes, (index + 1) * partBytes))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

function chunk(type: string, content: Buffer): Buffer {
  const named = Buffer.concat([Buffer.from(type, 'latin1'), content]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(content.length, 0);
  ends.writeUInt32BE(crc32(named), 4);
  return Buffer.concat([ends.subarray(0, 4), named, ends.subarray(4)]);
}

const channelsOf: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };
/** First column and row, and the steps between them, of the passes of Adam7. */
const adam7 = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/** Returns the rows of a PNG with their filters, of which each kind occurs, before they are compressed. */
export function rowsOf({ width, height, bits, colourType, samples, isInterlaced = false }: PngOptions): Buffer {
  const channels = channelsOf[colourType] ?? 1;
  const pixelBytes = Math.max(1, (bits * channels) >> 3);
  const rows: Buffer[] = [];
  for (const [left, top, across, down] of isInterlaced ? adam7 : ([[0, 0, 1, 1]] as const)) {
    let above: Buffer | undefined;
    for (let y = top; y < height; y += down) {
      const row: number[] = [];
      for (let x = left; x < width; x += across) row.push(...samples.slice((y * width + x) * channels, (y * width + x + 1) * channels));
      if (row.length === 0) break;
      const packed = packedRow(row, bits);
      rows.push(filtered(packed, above ?? Buffer.alloc(packed.length), pixelBytes, rows.length % 5));
      above = packed;
    }
  }
  return Buffer.concat(rows);
}

function packedRow(samples: readonly number[], bits: number): Buffer {
  const row = Buffer.alloc(Math.ceil((samples.length * bits) / 8));
  for (const [index, sample] of samples.entries()) {
    if (bits === 16) row.writeUInt16BE(sample, 2 * index);
    else {
      const at = index * bits;
      row[at >> 3] = (row[at >> 3] ?? 0) | (sample << (8 - bits - (at & 7)));
    }
  }
  return row;
}

function filtered(row: Buffer, above: Buffer, pixelBytes: number, kind: number): Buffer {
  const line = Buffer.alloc(row.length + 1);
  line[0] = kind;
  for (let at = 0; at < row.length; at += 1) {
    const [left, up, corner] = [row[at - pixelBytes] ?? 0, above[at] ?? 0, above[at - pixelBytes] ?? 0];
    const guesses = [0, left, up, (left + up) >> 1, nearest(left, up, corner)];
    line[at + 1] = ((row[at] ?? 0) - (guesses[kind] ?? 0)) & 0xff;
  }
  return line;
}

function nearest(left: number, up: number, corner: number): number {
  const guess = left + up - corner;
  const distances = [left, up, corner].map((one) => Math.abs(guess - one));
  const least = Math.min(...distances);
  return [left, up, corner][distances.indexOf(least)] ?? 0;
}

export interface JpegOptions {
  readonly width?: number;
  readonly height?: number;
  /** Each a gray value of all its pixels. */
  readonly components: readonly number[];
  readonly isOfAdobe?: boolean;
  /** Of the start of frame; 0xc0 by default. */
  readonly frame?: number;
  readonly bits?: number;
}

/**
 * Writes a JPEG file of one colour, baseline (ITU-T T.81): 8 × 8 pixels unless told otherwise.
 * Components are as the file has them.
 */
export function jpegOf({ width = 8, height = 8, components, isOfAdobe = false, frame = 0xc0, bits = 8 }: JpegOptions): Buffer {
  const segment = (marker: number, content: readonly number[]): Buffer =>
    Buffer.from([0xff, marker, (content.length + 2) >> 8, (content.length + 2) & 0xff, ...content]);
  const ids = components.map((_, index) => index + 1);
  // One table for DC: categories 0 to 11, of 4 bits each; one for AC: only the end of a block.
  const directTable = [0x00, 0, 0, 0, 12, ...Array<number>(12).fill(0), ...Array.from({ length: 12 }, (_, index) => index)];
  const alternatingTable = [0x10, 1, ...Array<number>(15).fill(0), 0];
  const blocks = Math.ceil(width / 8) * Math.ceil(height / 8);
  let code = '';
  for (let block = 0; block < blocks; block += 1)
    for (const value of components) {
      // The difference to the block before it: all are the same. The quantiser is 8.
      const level = block === 0 ? value - 128 : 0;
      const category = level === 0 ? 0 : Math.floor(Math.log2(Math.abs(level))) + 1;
      const magnitude = level < 0 ? level + 2 ** category - 1 : level;
      code += category.toString(2).padStart(4, '0') + (category === 0 ? '' : magnitude.toString(2).padStart(category, '0')) + '0';
    }
  code = code.padEnd(Math.ceil(code.length / 8) * 8, '1');
  const data = Array.from({ length: code.length / 8 }, (_, index) => Number.parseInt(code.slice(8 * index, 8 * index + 8), 2));
  return Buffer.concat([
    Buffer.from([0xff, 0xd8]),
    segment(0xfe, Array.from(Buffer.from('a comment'))),
    ...(isOfAdobe ? [segment(0xee, [...Buffer.from('Adobe'), 0, 100, 0, 0, 0, 0, 0])] : []),
    segment(0xdb, [0, ...Array<number>(64).fill(8)]),
    segment(frame, [bits, height >> 8, height & 0xff, width >> 8, width & 0xff, components.length, ...ids.flatMap((id) => [id, 0x11, 0])]),
    segment(0xc4, directTable),
    segment(0xc4, alternatingTable),
    segment(0xda, [components.length, ...ids.flatMap((id) => [id, 0]), 0, 63, 0]),
    Buffer.from(data.flatMap((byte) => (byte === 0xff ? [0xff, 0] : [byte]))),
    Buffer.from([0xff, 0xd9]),
  ]);
}
