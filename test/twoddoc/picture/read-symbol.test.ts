import { PNG } from 'pngjs';
import { describe, expect, it, vi } from 'vitest';
import { Bitmap } from '../../../src/twoddoc/picture/bitmap.ts';
import { pictureOf } from '../../../src/twoddoc/picture/picture.ts';
import { readSymbol } from '../../../src/twoddoc/picture/read-symbol.ts';
import { TwoDDocFault } from '../../../src/twoddoc/two-d-doc-fault.ts';
import { symbolOf } from '../../../src/twoddoc/symbol/symbol.ts';
import { usualPicture } from '../../support/usual-picture.ts';

const code = Buffer.from('DC04FR000001125E125C0001FR26FR245700010MLLE/SAMPLE/ANGELA\x1d20\x1d');
const png = Buffer.from(pictureOf(symbolOf(code), usualPicture).content);
const tiff = Buffer.from(pictureOf(symbolOf(code), { ...usualPicture, format: 'TIFF' }).content);

/** The picture again, as another program writes it. */
function rewritten(picture: Buffer, options: object, change: (image: PNG) => void = () => undefined): Buffer {
  const image = PNG.sync.read(picture);
  change(image);
  return PNG.sync.write(image, options);
}

function changed(bytes: Buffer, at: number, byte: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = byte;
  return copy;
}

/** A TIFF with the fields that are read, as many as there have to be. */
function tiffOf(width: number, height: number, strip: Buffer): Buffer {
  const fields: readonly (readonly [tag: number, value: number])[] = [
    ...([
      [256, width],
      [257, height],
      [258, 1],
      [259, 32_773],
      [262, 0],
    ] as const),
    ...([
      [273, 8],
      [278, height],
      [279, strip.length],
    ] as const),
  ];
  const directory = Buffer.alloc(2 + 12 * fields.length + 4);
  directory.writeUInt16LE(fields.length);
  for (const [index, [tag, value]] of fields.entries()) {
    directory.writeUInt16LE(tag, 2 + 12 * index);
    directory.writeUInt32LE(value, 10 + 12 * index);
  }
  const head = Buffer.from('II*\0\0\0\0\0', 'latin1');
  head.writeUInt32LE(head.length + strip.length, 4);
  return Buffer.concat([head, strip, directory]);
}

describe('a picture is read', () => {
  it.each([
    ['as a PNG', png],
    ['as a TIFF', tiff],
    ['in colours and with transparency', rewritten(png, { colorType: 6 })],
    ['in greys, with filters', rewritten(png, { colorType: 0, filterType: 4 })],
    [
      'with grey paper and ink',
      rewritten(png, { colorType: 0 }, ({ data }) => data.forEach((value, at) => at % 4 < 3 && (data[at] = value > 0 ? 200 : 60))),
    ],
  ])('%s', (_name, picture) => {
    expect(Buffer.from(readSymbol(picture)).equals(code)).toBe(true);
  });

  it('with a text that has long lines', () => {
    const text = '———————————— ▇▇▇▇▇▇▇▇▇▇ LLLLLL';
    for (const position of ['TOP', 'RIGHT', 'BOTTOM', 'LEFT'] as const)
      expect(Buffer.from(readSymbol(pictureOf(symbolOf(code), { ...usualPicture, text, position }).content)).equals(code)).toBe(true);
  });
});

describe('a picture is refused', () => {
  const blank = rewritten(png, { colorType: 0 }, ({ data }) => data.fill(255));
  const spotted = rewritten(png, { colorType: 0 }, ({ data, width }) => {
    for (let y = 40; y < 60; y += 1) for (let x = 40; x < 60; x += 1) data.fill(0, 4 * (y * width + x), 4 * (y * width + x) + 3);
  });

  it.each([
    ['that is no picture', Buffer.from('DC04FR00'), 'the picture is neither a PNG nor a TIFF of this service'],
    ['that is empty', Buffer.alloc(0), 'the picture is neither a PNG nor a TIFF of this service'],
    ['without a symbol', blank, 'no Data Matrix symbol was found in the picture'],
    ['with a spot of ink', spotted, 'the symbol is damaged'],
    ['that is cut off, as a PNG', png.subarray(0, -20), 'the picture cannot be read: the PNG is damaged'],
    ['with wrong bytes, as a PNG', changed(png, 70, 1), 'the picture cannot be read: the PNG is damaged'],
    ['that is cut off, as a TIFF', tiff.subarray(0, -20), 'the TIFF was not made by this service'],
    ['that is only the beginning of a TIFF', tiff.subarray(0, 6), 'the TIFF was not made by this service'],
    ['with wrong bytes, as a TIFF', changed(tiff, 8, 127), 'the picture cannot be read: the TIFF is damaged'],
  ])('%s', (_name, picture, message) => {
    expect(() => readSymbol(picture)).toThrow(message);
    expect(() => readSymbol(picture)).toThrow(TwoDDocFault);
  });

  it('without pixels, however many rows it states', () => {
    expect(() => readSymbol(tiffOf(0, 0xffff_ffff, Buffer.alloc(0)))).toThrow('the TIFF was not made by this service');
    expect(() => readSymbol(tiffOf(0xffff_ffff, 0, Buffer.alloc(0)))).toThrow('the TIFF was not made by this service');
  });

  it('with a long column that each second row seems to leave, which is not followed to its end each time', () => {
    const height = 2000;
    const rows = Buffer.from('02ffffff02800000'.repeat(height / 2), 'hex');
    const isBlack = vi.spyOn(Bitmap.prototype, 'isBlack');
    try {
      expect(() => readSymbol(tiffOf(24, height, rows))).toThrow('no Data Matrix symbol was found in the picture');
      expect(isBlack.mock.calls.length).toBeLessThan(3 * 24 * height);
    } finally {
      isBlack.mockRestore();
    }
  });

  it('with any byte changed, or reads the same code', () => {
    for (const file of [png, tiff]) {
      for (let at = 0; at < file.length; at += 7) {
        let read: Uint8Array = code;
        try {
          read = readSymbol(changed(file, at, (file[at] ?? 0) ^ 0x55));
        } catch (error) {
          expect(error).toBeInstanceOf(TwoDDocFault);
        }
        expect(Buffer.from(read).equals(code)).toBe(true);
      }
    }
  });
});
