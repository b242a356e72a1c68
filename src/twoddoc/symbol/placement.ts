import type { SymbolSize } from './symbol-sizes.ts';

/**
 * Row and column of each bit of a codeword, from its highest, relative to its lowest (ISO/IEC
 * 16022, figure F.1).
 */
const standardShape = [
  [-2, -2],
  [-2, -1],
  [-1, -2],
  [-1, -1],
  [-1, 0],
  [0, -2],
  [0, -1],
  [0, 0],
] as const;

type Shape = readonly (readonly [row: number, column: number])[];

/**
 * The shapes of codewords at corners (figures F.2 to F.5). Negative numbers count from the last row
 * or column.
 */
const cornerShapes: readonly [Shape, Shape, Shape, Shape] = [
  [
    [-1, 0],
    [-1, 1],
    [-1, 2],
    [0, -2],
    [0, -1],
    [1, -1],
    [2, -1],
    [3, -1],
  ],
  [
    [-3, 0],
    [-2, 0],
    [-1, 0],
    [0, -4],
    [0, -3],
    [0, -2],
    [0, -1],
    [1, -1],
  ],
  [
    [-3, 0],
    [-2, 0],
    [-1, 0],
    [0, -2],
    [0, -1],
    [1, -1],
    [2, -1],
    [3, -1],
  ],
  [
    [-1, 0],
    [-1, -1],
    [0, -3],
    [0, -2],
    [0, -1],
    [1, -3],
    [1, -2],
    [1, -1],
  ],
];

/** Where the modules of a symbol are, as indexes row by row. */
export interface Placement {
  /** Eight for each codeword, from its highest bit. */
  readonly bits: Uint16Array;
  /** Modules that are dark whatever the codewords are. */
  readonly dark: Uint16Array;
}

const placements = new Map<number, Placement>();

/**
 * Returns the places of a symbol's bits (ISO/IEC 16022, annex F) and of its finder patterns (5.8).
 */
export function placement(symbol: SymbolSize): Placement {
  const known = placements.get(symbol.size);
  if (known !== undefined) return known;
  const side = symbol.size - 2 * symbol.regions;
  const mapped = mappedBits(side);
  const regionSide = side / symbol.regions;
  const moduleOf = (index: number): number => {
    const [row, column] = [Math.floor(index / side), index % side];
    const place = (line: number): number => line + 1 + 2 * Math.floor(line / regionSide);
    return place(row) * symbol.size + place(column);
  };
  const dark = finderModules(symbol.size, regionSide + 2);
  if (mapped.isCornerFree) dark.push(moduleOf(side * side - 1), moduleOf(side * (side - 1) - 2));
  const made: Placement = { bits: Uint16Array.from(mapped.bits, moduleOf), dark: Uint16Array.from(dark) };
  placements.set(symbol.size, made);
  return made;
}

/**
 * The dark modules around each region: the left column and the lowest row, and every other one of
 * the others.
 */
function finderModules(size: number, step: number): number[] {
  const modules: number[] = [];
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column < size; column += 1) {
      const isLeft = column % step === 0;
      const isLowest = row % step === step - 1;
      const isHighest = row % step === 0 && column % 2 === 0;
      const isRight = column % step === step - 1 && row % 2 === 1;
      if (isLeft || isLowest || isHighest || isRight) modules.push(row * size + column);
    }
  }
  return modules;
}

/**
 * Places codewords in a square without finder patterns, along diagonals from its upper left corner.
 * `isCornerFree`: four modules of the lower right corner are left; two of them are dark.
 */
function mappedBits(side: number): { readonly bits: readonly number[]; readonly isCornerFree: boolean } {
  const taken = new Uint8Array(side * side);
  const bits: number[] = [];
  const put = (row: number, column: number): void => {
    taken[row * side + column] = 1;
    bits.push(row * side + column);
  };
  const wrapped = (line: number): number => (line < 0 ? line + side : line);
  const putCorner = (shape: Shape): void => {
    for (const [row, column] of shape) put(wrapped(row), wrapped(column));
  };
  // A shape that leaves the square on one side comes back on the other one, shifted along it.
  const shift = 4 - ((side + 4) % 8);
  const putStandard = (lowestRow: number, lastColumn: number): void => {
    if (taken[lowestRow * side + lastColumn] === 1) return;
    for (const [down, right] of standardShape) {
      let [row, column] = [lowestRow + down, lastColumn + right];
      if (row < 0) [row, column] = [row + side, column + shift];
      if (column < 0) [row, column] = [row + shift, column + side];
      put(row, column);
    }
  };
  let [row, column] = [4, 0];
  do {
    if (row === side && column === 0) putCorner(cornerShapes[0]);
    if (row === side - 2 && column === 0 && side % 4 !== 0) putCorner(cornerShapes[1]);
    if (row === side - 2 && column === 0 && side % 8 === 4) putCorner(cornerShapes[2]);
    if (row === side + 4 && column === 2 && side % 8 === 0) putCorner(cornerShapes[3]);
    for (; row >= 0 && column < side; row -= 2, column += 2) if (row < side && column >= 0) putStandard(row, column);
    [row, column] = [row + 1, column + 3];
    for (; row < side && column >= 0; row += 2, column -= 2) if (row >= 0 && column < side) putStandard(row, column);
    [row, column] = [row + 3, column + 1];
  } while (row < side || column < side);
  return { bits, isCornerFree: taken[side * side - 1] === 0 };
}
