import { crc32, inflateSync } from 'node:zlib';
import { PNG } from 'pngjs';
import type { Picture } from './picture.ts';
import { checkSize, ImageFault } from './image-fault.ts';

interface Header {
  readonly width: number;
  readonly height: number;
  readonly bits: number;
  readonly colourType: number;
  readonly isInterlaced: boolean;
}

/** Colour types (PNG, third edition, 11.2.1). */
const colourTypes = { gray: 0, rgb: 2, palette: 3, grayAlpha: 4, rgbAlpha: 6 } as const;
const bitsAllowed: Readonly<Record<number, readonly number[]>> = {
  0: [1, 2, 4, 8, 16],
  2: [8, 16],
  3: [1, 2, 4, 8],
  4: [8, 16],
  6: [8, 16],
};

/** Reads a PNG file. Its compressed rows are kept where PDF can take them. @throws {ImageFault} */
export function pngPicture(bytes: Uint8Array): Picture {
  const chunks = chunksOf(bytes);
  const header = headerOf(chunks);
  const { width, height, bits, colourType, isInterlaced } = header;
  const palette = chunks.find(({ type }) => type === 'PLTE')?.data;
  const hasPalette = palette !== undefined && palette.length > 0 && palette.length % 3 === 0 && palette.length <= 3 * 2 ** bits;
  if (colourType === colourTypes.palette && !hasPalette) throw damaged();
  const isTransparent =
    chunks.some(({ type }) => type === 'tRNS') || colourType === colourTypes.grayAlpha || colourType === colourTypes.rgbAlpha;
  const isDecoded = isTransparent || isInterlaced || bits === 16;
  checkSize(width, height, { isDecoded });
  const rows = Buffer.concat(chunks.filter(({ type }) => type === 'IDAT').map(({ data }) => data));
  checkRows(rows, header);
  if (isDecoded) return decodedPicture(bytes, header);
  const shared = {
    width,
    height,
    bitsPerComponent: bits as Picture['bitsPerComponent'],
    encoding: { kind: 'PNG_ROWS' },
    bytes: rows,
  } as const;
  if (colourType === colourTypes.gray) return { ...shared, colours: { space: 'GRAY' } };
  if (colourType === colourTypes.rgb) return { ...shared, colours: { space: 'RGB' } };
  return { ...shared, colours: { space: 'INDEXED', palette: palette ?? Buffer.alloc(0) } };
}

/** First column and row, and the steps from one to the next, of the seven passes (PNG, 8.2). */
const passes = [
  [0, 0, 8, 8],
  [4, 0, 8, 8],
  [0, 4, 4, 8],
  [2, 0, 4, 4],
  [0, 2, 2, 4],
  [1, 0, 2, 2],
  [0, 1, 1, 2],
] as const;

/** Bits of a pixel are those of a sample times this. */
const samples: Readonly<Record<number, number>> = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 };

/**
 * Checks that the compressed rows are as many bytes as the size says, without more being inflated,
 * and that each has a filter.
 */
function checkRows(compressed: Uint8Array, { width, height, bits, colourType, isInterlaced }: Header): void {
  const parts = (isInterlaced ? passes : ([[0, 0, 1, 1]] as const)).map(([left, top, across, down]) => ({
    rows: Math.ceil((height - top) / down),
    columns: Math.ceil((width - left) / across),
  }));
  const sized = parts
    .filter(({ rows, columns }) => rows > 0 && columns > 0)
    .map(({ rows, columns }) => ({ rows, rowBytes: 1 + Math.ceil((columns * bits * (samples[colourType] ?? 1)) / 8) }));
  const bytes = inflated(
    compressed,
    sized.reduce((sum, { rows, rowBytes }) => sum + rows * rowBytes, 0),
  );
  let at = 0;
  for (const { rows, rowBytes } of sized) for (let row = 0; row < rows; row += 1, at += rowBytes) if ((bytes[at] ?? 5) > 4) throw damaged();
}

function inflated(compressed: Uint8Array, length: number): Uint8Array {
  try {
    const bytes = inflateSync(compressed, { maxOutputLength: length });
    if (bytes.length === length) return bytes;
  } catch (error) {
    throw new ImageFault('the PNG is damaged', { cause: error });
  }
  throw damaged();
}

interface Chunk {
  readonly type: string;
  readonly data: Buffer;
}

function chunksOf(bytes: Uint8Array): readonly Chunk[] {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const chunks: Chunk[] = [];
  for (let at = 8; at + 12 <= view.length;) {
    const length = view.readUInt32BE(at);
    if (at + 12 + length > view.length) throw damaged();
    const type = view.toString('latin1', at + 4, at + 8);
    if (crc32(view.subarray(at + 4, at + 8 + length)) !== view.readUInt32BE(at + 8 + length)) throw damaged();
    if (type === 'acTL') throw new ImageFault('the PNG is animated');
    chunks.push({ type, data: view.subarray(at + 8, at + 8 + length) });
    if (type === 'IEND') return chunks;
    at += 12 + length;
  }
  throw damaged();
}

function headerOf([first]: readonly Chunk[]): Header {
  if (first?.type !== 'IHDR' || first.data.length !== 13) throw damaged();
  const { data } = first;
  const [bits = 0, colourType = 0, compression = 1, filter = 1, interlace = 2] = data.subarray(8);
  if (bitsAllowed[colourType]?.includes(bits) !== true || compression !== 0 || filter !== 0 || interlace > 1) throw damaged();
  return { width: data.readUInt32BE(0), height: data.readUInt32BE(4), bits, colourType, isInterlaced: interlace === 1 };
}

/** Decodes the pixels, and separates colours and transparency. */
function decodedPicture(bytes: Uint8Array, { width, height }: Header): Picture {
  const pixels = rgbaOf(bytes);
  if (pixels.length !== width * height * 4) throw damaged();
  const colours = Buffer.alloc(width * height * 3);
  const alpha = Buffer.alloc(width * height);
  let isOpaque = true;
  for (let index = 0; index < alpha.length; index += 1) {
    colours[3 * index] = pixels[4 * index] ?? 0;
    colours[3 * index + 1] = pixels[4 * index + 1] ?? 0;
    colours[3 * index + 2] = pixels[4 * index + 2] ?? 0;
    const opacity = pixels[4 * index + 3] ?? 255;
    alpha[index] = opacity;
    if (opacity !== 255) isOpaque = false;
  }
  return {
    ...{ width, height, bitsPerComponent: 8, encoding: { kind: 'RAW' }, bytes: colours, colours: { space: 'RGB' } },
    alpha: isOpaque ? undefined : alpha,
  };
}

function rgbaOf(bytes: Uint8Array): Buffer {
  try {
    return PNG.sync.read(Buffer.from(bytes)).data;
  } catch (error) {
    throw new ImageFault('the PNG is damaged', { cause: error });
  }
}

function damaged(): ImageFault {
  return new ImageFault('the PNG is damaged');
}
