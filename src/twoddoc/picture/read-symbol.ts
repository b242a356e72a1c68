import { dataCodewords, type DataMatrix } from '../symbol/data-matrix.ts';
import { decoded } from '../symbol/decoded.ts';
import { symbolSizes } from '../symbol/symbol-sizes.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import type { Bitmap } from './bitmap.ts';
import { pngBitmap } from './read-png.ts';
import { tiffBitmap } from './read-tiff.ts';

/**
 * Reads the code of a picture that this service made: PNG, or TIFF. Pictures of other makers can be
 * read if they are as clear: upright, sharp, with white around the symbol. Errors are found, not
 * corrected.
 * @throws {TwoDDocFault} if no symbol is found, it is damaged, or it has codewords that stand for
 *   no byte
 */
export function readSymbol(picture: Uint8Array): Uint8Array {
  return decoded(dataCodewords(symbolIn(picture)));
}

/** Returns the modules of the symbol in such a picture. @throws {TwoDDocFault} if none is found */
export function symbolIn(picture: Uint8Array): DataMatrix {
  const symbol = foundSymbol(bitmapOf(picture));
  if (symbol === undefined) throw new TwoDDocFault('no Data Matrix symbol was found in the picture');
  return symbol;
}

function bitmapOf(picture: Uint8Array): Bitmap {
  const start = Buffer.from(picture.subarray(0, 8)).toString('latin1');
  if (start === '\x89PNG\r\n\x1a\n') return pngBitmap(picture);
  if (start.startsWith('II*\0')) return tiffBitmap(picture);
  throw new TwoDDocFault('the picture is neither a PNG nor a TIFF of this service');
}

/** A square of pixels. Right and bottom are behind its last pixel. */
interface Square {
  readonly left: number;
  readonly bottom: number;
  readonly side: number;
}

const sideMin = 20;

/**
 * Finds the symbol by its finder pattern: a left column and a lowest row that are dark, and as long
 * as each other.
 */
function foundSymbol(bitmap: Bitmap): DataMatrix | undefined {
  for (let y = bitmap.height - 1; y >= 0; y -= 1) {
    for (const [start, end] of bitmap.blackRuns(y)) {
      if (end - start < sideMin || (y + 1 < bitmap.height && bitmap.isBlack((start + end) >> 1, y + 1))) continue;
      const square = { left: start, bottom: y + 1, side: end - start };
      const [least, most] = [0.99 * square.side, 1.01 * square.side];
      let height = 1;
      // A column that is too long is not followed to its end, which would take long for a hostile
      // picture.
      while (height <= most && height <= y && bitmap.isBlack(start, y - height)) height += 1;
      const symbol = height >= least && height <= most ? sampledSymbol(bitmap, square) : undefined;
      if (symbol !== undefined) return symbol;
    }
  }
  return undefined;
}

/**
 * Returns the modules of a square, if its highest row and right column are dark and light in turn,
 * as for one of the sizes.
 */
function sampledSymbol(bitmap: Bitmap, { left, bottom, side }: Square): DataMatrix | undefined {
  for (const { size } of symbolSizes) {
    const step = side / size;
    const middle = (index: number): number => Math.floor((index + 0.5) * step);
    const isDark = (column: number, row: number): boolean => bitmap.isBlack(left + middle(column), bottom - side + middle(row));
    const lines = Array.from({ length: size }, (_, index) => index);
    if (lines.every((index) => isDark(index, 0) === (index % 2 === 0) && isDark(size - 1, index) === (index % 2 === 1)))
      return {
        size,
        modules: Uint8Array.from({ length: size * size }, (_, index) => (isDark(index % size, Math.floor(index / size)) ? 1 : 0)),
      };
  }
  return undefined;
}
