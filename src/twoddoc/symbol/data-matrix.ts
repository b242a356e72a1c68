import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { placement } from './placement.ts';
import { errorCodewords, isFaultless } from './reed-solomon.ts';
import { symbolSize, type SymbolSize } from './symbol-sizes.ts';

/** A square Data Matrix symbol without its quiet zone. */
export interface DataMatrix {
  /** Modules of a side. */
  readonly size: number;
  /** A byte for each module, row by row from the upper left corner: 1 is dark. */
  readonly modules: Uint8Array;
}

/**
 * Draws data codewords, as many as the symbol has: adds error codewords, places bits and the finder
 * pattern.
 */
export function drawnSymbol(data: Uint8Array, symbol: SymbolSize): DataMatrix {
  if (data.length !== symbol.dataCodewords)
    throw new RangeError(`a symbol of ${symbol.size} modules has ${symbol.dataCodewords} data codewords, not ${data.length}`);
  const { bits, dark } = placement(symbol);
  const modules = new Uint8Array(symbol.size ** 2);
  for (const module of dark) modules[module] = 1;
  const codewords = withErrorCodewords(data, symbol);
  for (const [index, codeword] of codewords.entries())
    for (let bit = 0; bit < 8; bit += 1) if ((codeword & (0x80 >> bit)) !== 0) modules[bits[8 * index + bit] ?? 0] = 1;
  return { size: symbol.size, modules };
}

/**
 * Reads the data codewords of a symbol.
 * @throws {TwoDDocFault} if a module differs: errors are found, not corrected
 */
export function dataCodewords(matrix: DataMatrix): Uint8Array {
  const symbol = symbolSize(matrix.size);
  const codewords = allCodewords(matrix);
  const [data, errors] = [codewords.subarray(0, symbol.dataCodewords), codewords.subarray(symbol.dataCodewords)];
  for (let block = 0; block < symbol.blocks; block += 1)
    if (!isFaultless(Buffer.concat([blockOf(data, block, symbol), blockOf(errors, block, symbol)]), symbol.blockErrorCodewords))
      throw new TwoDDocFault('the symbol is damaged: its error codewords do not match its data');
  return data;
}

/** Reads the codewords of a symbol, data and errors, as they are. */
export function allCodewords({ size, modules }: DataMatrix): Uint8Array {
  const { bits } = placement(symbolSize(size));
  const codewords = new Uint8Array(bits.length / 8);
  for (const [index, module] of bits.entries())
    if (modules[module] === 1) codewords[index >> 3] = (codewords[index >> 3] ?? 0) | (0x80 >> (index & 7));
  return codewords;
}

/**
 * Adds the error codewords. Data are dealt to the blocks in turn, and so are error codewords, from
 * the first block on (ISO/IEC 16022, annex A). In 144 × 144, where the data end with the eighth of
 * ten blocks, some programs begin the error codewords with the ninth, bwip-js among them; ZXing
 * reads both, libdmtx only what the standard says.
 */
function withErrorCodewords(data: Uint8Array, symbol: SymbolSize): Uint8Array {
  const { blocks, blockErrorCodewords } = symbol;
  const codewords = new Uint8Array(data.length + blocks * blockErrorCodewords);
  codewords.set(data);
  for (let block = 0; block < blocks; block += 1)
    for (const [index, codeword] of errorCodewords(blockOf(data, block, symbol), blockErrorCodewords).entries())
      codewords[data.length + index * blocks + block] = codeword;
  return codewords;
}

function blockOf(codewords: Uint8Array, block: number, { blocks }: SymbolSize): Uint8Array {
  return blocks === 1 ? codewords : codewords.filter((_codeword, index) => index % blocks === block);
}
