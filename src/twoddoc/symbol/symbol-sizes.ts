/** A square symbol of Data Matrix ECC 200 (ISO/IEC 16022, table 7). */
export interface SymbolSize {
  /** Modules of a side, with the finder pattern and without the quiet zone. */
  readonly size: number;
  /** Data regions of a side: each has a finder pattern of its own. */
  readonly regions: number;
  readonly dataCodewords: number;
  /** Reed-Solomon blocks among which the codewords are dealt in turn. */
  readonly blocks: number;
  /** Error codewords of each block. */
  readonly blockErrorCodewords: number;
}

/** Size, regions of a side, data codewords, error codewords of a block, blocks. */
const rows = [
  [10, 1, 3, 5, 1],
  [12, 1, 5, 7, 1],
  [14, 1, 8, 10, 1],
  [16, 1, 12, 12, 1],
  [18, 1, 18, 14, 1],
  [20, 1, 22, 18, 1],
  [22, 1, 30, 20, 1],
  [24, 1, 36, 24, 1],
  [26, 1, 44, 28, 1],
  [32, 2, 62, 36, 1],
  [36, 2, 86, 42, 1],
  [40, 2, 114, 48, 1],
  [44, 2, 144, 56, 1],
  [48, 2, 174, 68, 1],
  [52, 2, 204, 42, 2],
  [64, 4, 280, 56, 2],
  [72, 4, 368, 36, 4],
  [80, 4, 456, 48, 4],
  [88, 4, 576, 56, 4],
  [96, 4, 696, 68, 4],
  [104, 4, 816, 56, 6],
  [120, 6, 1050, 68, 6],
  [132, 6, 1304, 62, 8],
  [144, 6, 1558, 62, 10],
] as const;

/** The square symbols, from the smallest to the largest. */
export const symbolSizes: readonly SymbolSize[] = rows.map(([size, regions, dataCodewords, blockErrorCodewords, blocks]) => ({
  size,
  regions,
  dataCodewords,
  blocks,
  blockErrorCodewords,
}));

/** Data codewords of the largest symbol, 144 × 144. */
export const dataCodewordsMax = 1558;

/** Returns the symbol with so many modules a side. @throws {RangeError} if there is none */
export function symbolSize(size: number): SymbolSize {
  const found = symbolSizes.find((one) => one.size === size);
  if (found === undefined) throw new RangeError(`no square Data Matrix symbol has ${size} modules a side`);
  return found;
}
