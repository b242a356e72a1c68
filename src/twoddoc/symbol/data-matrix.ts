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

/** Draws data codewords, as many as the symbol has: adds error codewords, places bits and the finder pattern. */
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
export function dataCodewords({ size, modules }: DataMatrix): Uint8Array {
  const symbol = symbolSize(size);
  const { bits } = placement(symbol);
  const codewords = new Uint8Array(bits.length / 8);
  for (const [index, module] of bits.entries())
    if (modules[module] === 1) codewords[index >> 3] = (codewords[index >> 3] ?? 0) | (0x80 >> (index & 7));
  for (let block = 0; block < symbol.blocks; block += 1)
    if (!isFaultless(blockOf(codewords, block, symbol.blocks), symbol.blockErrorCodewords))
      throw new TwoDDocFault('the symbol is damaged: its error codewords do not match its data');
  return codewords.slice(0, symbol.dataCodewords);
}

/**
 * Adds the error codewords. Codewords are dealt to the blocks in turn, and error codewords go on where the data end
 * (ISO/IEC 16022, annex A). That makes a difference in 144 × 144 only, where the last two blocks have one data codeword less.
 */
function withErrorCodewords(data: Uint8Array, { blocks, blockErrorCodewords }: SymbolSize): Uint8Array {
  const codewords = new Uint8Array(data.length + blocks * blockErrorCodewords);
  codewords.set(data);
  for (let block = 0; block < blocks; block += 1) {
    let at = data.length + ((block - (data.length % blocks) + blocks) % blocks);
    for (const codeword of errorCodewords(blockOf(data, block, blocks), blockErrorCodewords)) {
      codewords[at] = codeword;
      at += blocks;
    }
  }
  return codewords;
}

function blockOf(codewords: Uint8Array, block: number, blocks: number): Uint8Array {
  if (blocks === 1) return codewords;
  return codewords.filter((_codeword, index) => index % blocks === block);
}
