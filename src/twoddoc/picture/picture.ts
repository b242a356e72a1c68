import type { DataMatrix } from '../symbol/data-matrix.ts';
import { Bitmap } from './bitmap.ts';
import { pngFile } from './png-file.ts';
import { textBitmap } from './text-bitmap.ts';
import { tiffFile } from './tiff-file.ts';

/**
 * Side of the symbol on which the text is. At the left it is read from below, at the right from
 * above.
 */
export type TextPosition = 'TOP' | 'RIGHT' | 'BOTTOM' | 'LEFT';

export interface PictureOptions {
  readonly format: 'PNG' | 'TIFF';
  /** One line, `textMaxCharacters` at most. Without a letter, the picture has only the symbol. */
  readonly text: string;
  readonly position: TextPosition;
  /** Pixels of a side of a module, 3 to 32. */
  readonly modulePixels: number;
  /** Pixels of an inch, as the file states them. */
  readonly dpi: number;
  /** Width of the white border in modules, 1 to 16. It is a part of the picture. */
  readonly quietZoneModules: number;
}

/**
 * The text's size and place, as for printed codes: height of a capital letter, and the least
 * distance, in modules.
 */
const capitalModules = 5;
const textDistanceModules = 2;

/** A file with a picture; width and height are in pixels. */
export interface PictureFile {
  readonly content: Uint8Array;
  readonly width: number;
  readonly height: number;
}

/**
 * Draws a symbol with its text into a file with one bit for each pixel.
 * @throws {TwoDDocFault} if the text is too long or has a character that cannot be drawn
 * @throws {RangeError} if an option is out of its range
 */
export function pictureOf(symbol: DataMatrix, options: PictureOptions): PictureFile {
  const { format, dpi, modulePixels, quietZoneModules } = options;
  checkRange('modulePixels', modulePixels, 3, 32);
  checkRange('quietZoneModules', quietZoneModules, 1, 16);
  checkRange('dpi', dpi, 1, 65_535);
  const bitmap = composed(symbol, options);
  return {
    ...{ width: bitmap.width, height: bitmap.height },
    content: format === 'PNG' ? pngFile(bitmap, dpi) : tiffFile(bitmap, dpi),
  };
}

function checkRange(name: string, value: number, least: number, most: number): void {
  if (!Number.isInteger(value) || value < least || value > most)
    throw new RangeError(`${name} is ${value}, not a whole number from ${least} to ${most}`);
}

/** The symbol and the text are centred on each other. */
function composed(symbol: DataMatrix, { text, position, modulePixels, quietZoneModules }: PictureOptions): Bitmap {
  const quiet = quietZoneModules * modulePixels;
  const side = symbol.size * modulePixels + 2 * quiet;
  const upright = textBitmap(text, capitalModules * modulePixels);
  const isBeside = position === 'LEFT' || position === 'RIGHT';
  const line = isBeside ? upright.turned(position === 'LEFT' ? 'COUNTER_CLOCKWISE' : 'CLOCKWISE') : upright;
  const [lineLength, lineHeight] = [upright.width, upright.height];
  // From the quiet zone to the text; beyond the text there is a quiet zone, too.
  const distance = Math.max(0, textDistanceModules - quietZoneModules) * modulePixels;
  const added = lineHeight === 0 ? 0 : distance + lineHeight + quiet;
  const breadth = Math.max(side, lineLength + 2 * quiet);
  const bitmap = isBeside ? new Bitmap(side + added, breadth) : new Bitmap(breadth, side + added);
  const isBefore = position === 'TOP' || position === 'LEFT';
  const [symbolAlong, lineAlong] = [(breadth - side) >> 1, (breadth - lineLength) >> 1];
  const [symbolAcross, lineAcross] = isBefore ? [added, quiet] : [0, side + distance];
  const place = (along: number, across: number): [left: number, top: number] => (isBeside ? [across, along] : [along, across]);
  const [left, top] = place(symbolAlong, symbolAcross);
  drawModules(bitmap, symbol, { left: left + quiet, top: top + quiet, modulePixels });
  bitmap.draw(line, ...place(lineAlong, lineAcross));
  return bitmap;
}

interface SymbolPlace {
  readonly left: number;
  readonly top: number;
  readonly modulePixels: number;
}

/** Draws the modules into rows that are still white. */
function drawModules(bitmap: Bitmap, { size, modules }: DataMatrix, { left, top, modulePixels }: SymbolPlace): void {
  for (let row = 0; row < size; row += 1) {
    const y = top + row * modulePixels;
    for (let column = 0; column < size; column += 1) {
      const x = left + column * modulePixels;
      if (modules[row * size + column] === 1) bitmap.blacken(y, x, x + modulePixels);
    }
    for (let repeated = 1; repeated < modulePixels; repeated += 1) bitmap.repeatRow(y + repeated);
  }
}
