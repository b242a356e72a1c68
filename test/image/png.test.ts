import { crc32, deflateSync, inflateSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readPicture } from '../../src/image/image.ts';
import { ImageFault } from '../../src/image/image-fault.ts';
import { pngOf, rowsOf, type PngOptions } from './made-images.ts';

/** Samples of each pixel, row by row, as a PNG has them. */
function samplesOf(count: number, max: number): number[] {
  return Array.from({ length: count }, (_, index) => (index * 37 + 11) % (max + 1));
}

const kinds = [
  ...[1, 2, 4, 8, 16].map((bits) => ({ colourType: 0, bits, channels: 1 })),
  ...[8, 16].map((bits) => ({ colourType: 2, bits, channels: 3 })),
  ...[1, 2, 4, 8].map((bits) => ({ colourType: 3, bits, channels: 1 })),
  ...[8, 16].map((bits) => ({ colourType: 4, bits, channels: 2 })),
  ...[8, 16].map((bits) => ({ colourType: 6, bits, channels: 4 })),
] as const;

const palette = (bits: number): Buffer => Buffer.from(Array.from({ length: 3 * 2 ** bits }, (_, index) => (index * 29) % 256));

function madeOf({ colourType, bits, channels }: (typeof kinds)[number], more: Partial<PngOptions> = {}): PngOptions {
  const [width, height] = [5, 9];
  const samples = samplesOf(width * height * channels, colourType === 3 ? 2 ** bits - 1 : 2 ** bits - 1);
  return { width, height, bits, colourType, samples, ...(colourType === 3 ? { palette: palette(bits) } : {}), ...more };
}

/** Red, green, blue and opacity of each pixel, of 8 bits, as the standard defines them. */
function expectedOf({ colourType, bits, samples, palette: colours }: PngOptions): { readonly rgb: number[]; readonly alpha: number[] } {
  const scaled = (sample: number): number => Math.round((sample * 255) / (2 ** bits - 1));
  const [rgb, alpha]: [number[], number[]] = [[], []];
  const channels = { 0: 1, 2: 3, 3: 1, 4: 2, 6: 4 }[colourType] ?? 1;
  for (let at = 0; at < samples.length; at += channels) {
    const pixel = samples.slice(at, at + channels);
    const [first = 0] = pixel;
    if (colourType === 3) rgb.push(...(colours ?? Buffer.alloc(0)).subarray(3 * first, 3 * first + 3));
    else rgb.push(...(colourType === 0 || colourType === 4 ? [first, first, first] : pixel.slice(0, 3)).map(scaled));
    alpha.push(colourType === 4 || colourType === 6 ? scaled(pixel.at(-1) ?? 0) : 255);
  }
  return { rgb, alpha };
}

describe('a PNG', () => {
  it.each(kinds.filter(({ colourType, bits }) => colourType < 4 && bits < 16))(
    'passes through where a PDF can take its rows: colour type $colourType, $bits bits',
    (kind) => {
      const made = madeOf(kind);
      const picture = readPicture(pngOf(made));
      expect(picture).toMatchObject({ width: 5, height: 9, bitsPerComponent: kind.bits, encoding: { kind: 'PNG_ROWS' } });
      expect(picture.alpha).toBeUndefined();
      expect(picture.colours).toEqual(
        kind.colourType === 3 ? { space: 'INDEXED', palette: made.palette } : { space: kind.colourType === 0 ? 'GRAY' : 'RGB' },
      );
      expect(inflateSync(picture.bytes)).toEqual(rowsOf(made));
    },
  );

  it.each(
    kinds
      .flatMap((kind) => [false, true].map((isInterlaced) => ({ ...kind, isInterlaced })))
      .filter(({ colourType, bits, isInterlaced }) => isInterlaced || colourType >= 4 || bits === 16),
  )('is decoded where a PDF cannot: colour type $colourType, $bits bits, interlaced $isInterlaced', ({ isInterlaced, ...kind }) => {
    const made = madeOf(kind, { isInterlaced });
    const picture = readPicture(pngOf(made));
    const { rgb, alpha } = expectedOf(made);
    expect(picture).toMatchObject({ width: 5, height: 9, bitsPerComponent: 8, encoding: { kind: 'RAW' }, colours: { space: 'RGB' } });
    // Samples of 16 bits are rounded by one or the other rule.
    expect(Math.max(...Array.from(picture.bytes, (byte, index) => Math.abs(byte - (rgb[index] ?? -9))))).toBeLessThanOrEqual(1);
    if (alpha.every((one) => one === 255)) expect(picture.alpha).toBeUndefined();
    else
      expect(Math.max(...Array.from(picture.alpha ?? [], (byte, index) => Math.abs(byte - (alpha[index] ?? -9))))).toBeLessThanOrEqual(1);
  });

  it('has the transparency of its palette, and of its one colour', () => {
    const indexed = { ...madeOf({ colourType: 3, bits: 2, channels: 1 }), transparency: Buffer.of(0, 128) };
    const opacities = indexed.samples.map((sample) => [0, 128][sample] ?? 255);
    expect(Array.from(readPicture(pngOf(indexed)).alpha ?? [])).toEqual(opacities);
    const gray = { ...madeOf({ colourType: 0, bits: 8, channels: 1 }), transparency: Buffer.of(0, 11) };
    expect(Array.from(readPicture(pngOf(gray)).alpha ?? [])).toEqual(gray.samples.map((sample) => (sample === 11 ? 0 : 255)));
  });

  it('keeps its rows whatever their filters and its chunks are', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 9 }),
        (width, height, parts) => {
          const samples = samplesOf(width * height * 3, 255);
          const made: PngOptions = { width, height, bits: 8, colourType: 2, samples, parts };
          expect(inflateSync(readPicture(pngOf(made)).bytes)).toEqual(rowsOf(made));
        },
      ),
      { numRuns: 100 },
    );
  });

  const usual = madeOf({ colourType: 2, bits: 8, channels: 3 });
  const rows = rowsOf(usual);
  it.each<[string, Buffer]>([
    ['animated', pngOf({ ...usual, chunks: [['acTL', Buffer.alloc(8)]] })],
    ['with too few rows', pngOf({ ...usual, compressed: deflateSync(rows.subarray(0, -1)) })],
    ['with too many rows', pngOf({ ...usual, compressed: deflateSync(Buffer.concat([rows, rows])) })],
    ['that is a bomb', pngOf({ ...usual, compressed: deflateSync(Buffer.alloc(200_000_000)) })],
    ['that is interlaced, and a bomb', pngOf({ ...usual, isInterlaced: true, compressed: deflateSync(Buffer.alloc(200_000_000)) })],
    ['with a filter that there is not', pngOf({ ...usual, compressed: deflateSync(Buffer.from(rows).fill(7, 0, 1)) })],
    ['whose data are not compressed', pngOf({ ...usual, compressed: rows })],
    ['without data', pngOf({ ...usual, compressed: Buffer.alloc(0) })],
    ['without a palette', pngOf({ ...madeOf({ colourType: 3, bits: 4, channels: 1 }), palette: undefined })],
    ['with a palette that is too long', pngOf({ ...madeOf({ colourType: 3, bits: 1, channels: 1 }), palette: palette(4) })],
    ['of a colour type that there is not', pngOf({ ...usual, header: [8, 5, 0, 0, 0] })],
    ['of 3 bits', pngOf({ ...usual, header: [3, 0, 0, 0, 0] })],
    ['without pixels', pngOf({ ...usual, width: 0 })],
    ['that says it has 10¹⁸ pixels', pngOf({ ...usual, width: 1_000_000_000, height: 1_000_000_000, compressed: deflateSync(rows) })],
    [
      'that has more pixels than are decoded',
      pngOf({ ...madeOf({ colourType: 6, bits: 8, channels: 4 }), width: 5000, height: 5000, compressed: deflateSync(Buffer.alloc(10)) }),
    ],
    ['without its end', pngOf(usual).subarray(0, -12)],
    ['without its header', Buffer.concat([pngOf(usual).subarray(0, 8), pngOf(usual).subarray(33)])],
  ])('is refused: one %s', (_name, bytes) => {
    expect(() => readPicture(bytes)).toThrow(ImageFault);
  });

  it('is refused wherever a byte was changed or the file was cut off', () => {
    const sound = pngOf(usual);
    expect(crc32(sound)).toBeGreaterThan(0);
    for (let at = 0; at < sound.length; at += 1) {
      const changed = Buffer.from(sound);
      changed[at] = (changed[at] ?? 0) ^ 0x41;
      expect(() => readPicture(changed), `byte ${at}`).toThrow(ImageFault);
      expect(() => readPicture(sound.subarray(0, at)), `length ${at}`).toThrow(ImageFault);
    }
  });
});
