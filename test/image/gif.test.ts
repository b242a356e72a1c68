import * as fc from 'fast-check';
import { GifWriter } from 'omggif';
import { describe, expect, it } from 'vitest';
import { readPicture } from '../../src/image/image.ts';
import { ImageFault } from '../../src/image/image-fault.ts';

interface Frame {
  readonly x?: number;
  readonly y?: number;
  readonly width: number;
  readonly height: number;
  readonly indexes: readonly number[];
  readonly transparent?: number;
}

const palette = [0xff_0000, 0x00_ff00, 0x00_00ff, 0xff_ffff];

/** Writes a GIF by the encoder of a library. */
function gifOf(width: number, height: number, frames: readonly Frame[]): Buffer {
  const bytes = Buffer.alloc(width * height * 4 + 2000);
  const writer = new GifWriter(bytes, width, height, { palette });
  for (const { x = 0, y = 0, width: across, height: down, indexes, transparent } of frames)
    writer.addFrame(x, y, across, down, [...indexes], transparent === undefined ? {} : { transparent });
  return bytes.subarray(0, writer.end());
}

/** Writes a GIF whose data are codes of 3 bits, as they are given. */
function gifOfCodes(width: number, height: number, codes: readonly number[], { hasPalette = true } = {}): Buffer {
  const bits = codes.map((code) => [code & 1, (code >> 1) & 1, code >> 2].join('')).join('');
  const data = (bits.padEnd(Math.ceil(bits.length / 8) * 8, '0').match(/.{8}/g) ?? []).map((byte) =>
    Number.parseInt(Array.from(byte).toReversed().join(''), 2),
  );
  return Buffer.concat([
    Buffer.from('GIF89a'),
    Buffer.of(width, 0, height, 0, hasPalette ? 0x81 : 0, 0, 0),
    Buffer.from(hasPalette ? palette.flatMap((one) => [one >> 16, (one >> 8) & 0xff, one & 0xff]) : []),
    Buffer.of(0x2c, 0, 0, 0, 0, width, 0, height, 0, 0, 2, data.length, ...data, 0, 0x3b),
  ]);
}

describe('a GIF', () => {
  it('of one frame has its colours', () => {
    const picture = readPicture(gifOf(2, 2, [{ width: 2, height: 2, indexes: [0, 1, 2, 3] }]));
    expect(picture).toMatchObject({ width: 2, height: 2, bitsPerComponent: 8, encoding: { kind: 'RAW' }, colours: { space: 'RGB' } });
    expect(Array.from(picture.bytes)).toEqual([255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255]);
    expect(picture.alpha).toBeUndefined();
  });

  it('is transparent where its colour says so, and where no frame is', () => {
    const picture = readPicture(gifOf(3, 2, [{ x: 1, y: 1, width: 2, height: 1, indexes: [1, 2], transparent: 2 }]));
    expect(Array.from(picture.alpha ?? [])).toEqual([0, 0, 0, 0, 255, 0]);
    expect(Array.from(picture.bytes.subarray(12, 15))).toEqual([0, 255, 0]);
  });

  it('has the pixels that were written, of any size', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 1, max: 90 }), fc.nat(), (width, height, seed) => {
        const indexes = Array.from({ length: width * height }, (_, index) => ((index * (seed % 1013)) >> 3) & 3);
        const { bytes } = readPicture(gifOf(width, height, [{ width, height, indexes }]));
        const expected = indexes.flatMap((index) => [
          (palette[index] ?? 0) >> 16,
          ((palette[index] ?? 0) >> 8) & 0xff,
          (palette[index] ?? 0) & 0xff,
        ]);
        expect(Array.from(bytes)).toEqual(expected);
      }),
      { numRuns: 100 },
    );
  });

  const frame = { width: 2, height: 2, indexes: [0, 1, 2, 3] };
  const sound = gifOf(2, 2, [frame]);
  it.each<[string, Buffer, string]>([
    ['that is animated', gifOf(2, 2, [frame, frame]), 'animated'],
    ['without a frame', gifOf(2, 2, []), 'no frame'],
    ['with a frame that is larger than the screen', gifOf(2, 2, [{ ...frame, x: 1 }]), 'larger than its screen'],
    ['without pixels', Buffer.from(sound).fill(0, 6, 8), 'no pixels'],
    ['that is too large', Buffer.from(sound).fill(0xff, 6, 10), 'pixels'],
    ['with too few pixels', gifOfCodes(2, 2, [4, 0, 1, 5]), 'damaged'],
    ['with too many pixels', gifOfCodes(1, 1, [4, 0, 1, 5]), 'damaged'],
    ['with a code that is not defined yet', gifOfCodes(2, 1, [4, 7, 0, 5]), 'damaged'],
    ['without a palette', gifOfCodes(1, 1, [4, 0, 5], { hasPalette: false }), 'damaged'],
    ['of its header alone', sound.subarray(0, 10), 'damaged'],
  ])('is refused: one %s', (_name, bytes, message) => {
    expect(() => readPicture(bytes)).toThrow(ImageFault);
    expect(() => readPicture(bytes)).toThrow(message);
  });

  it('is sound with the codes that the damaged ones do not have', () => {
    expect(Array.from(readPicture(gifOfCodes(2, 1, [4, 0, 1, 5])).bytes)).toEqual([255, 0, 0, 0, 255, 0]);
  });

  it('is read or refused wherever it is cut off or changed', () => {
    for (let at = 0; at < sound.length; at += 1)
      for (const bytes of [sound.subarray(0, at), Buffer.from(sound).fill((sound[at] ?? 0) ^ 0xff, at, at + 1)])
        try {
          readPicture(bytes);
        } catch (error) {
          expect(error).toBeInstanceOf(ImageFault);
        }
  });
});
