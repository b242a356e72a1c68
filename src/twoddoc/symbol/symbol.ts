import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { codewordsIn, inC40, inC40AndBase256, joined, type EncodedCode } from './c40.ts';
import { pad, randomisedPad } from './codewords.ts';
import { drawnSymbol, type DataMatrix } from './data-matrix.ts';
import { mixedCodewords } from './mixed.ts';
import { dataCodewordsMax, symbolSizes, type SymbolSize } from './symbol-sizes.ts';

/**
 * How a code becomes codewords. `C40`: everything in C40, as 2D-Doc wants it (ANTS 3.2.6, §10.7);
 * only a binary signature of version 01 may be in Base 256. `MIXED`: the shortest mixture of
 * encodations, which gives a smaller symbol for some codes.
 */
export type Encodation = 'C40' | 'MIXED';

/**
 * Returns the smallest square symbol, Data Matrix ECC 200 (ISO/IEC 16022), that has room for a
 * code.
 * @throws {TwoDDocFault} if the code is empty or too large
 */
export function symbolOf(code: Uint8Array, encodation: Encodation = 'C40'): DataMatrix {
  const smallest = smallestOf(code);
  if (encodation === 'MIXED') {
    const mixed = mixedCodewords(code);
    const symbol = symbolSizes.find(({ dataCodewords }) => dataCodewords === mixed?.length);
    if (mixed !== undefined && symbol !== undefined && symbol.size < (smallest?.symbol.size ?? Infinity)) return drawnSymbol(mixed, symbol);
  }
  if (smallest === undefined) throw tooLarge(code);
  const { symbol, encoded } = smallest;
  const codewords = joined(symbol.dataCodewords, encoded);
  if (codewords.length < symbol.dataCodewords) codewords.push(pad);
  while (codewords.length < symbol.dataCodewords) codewords.push(randomisedPad(codewords.length + 1));
  return drawnSymbol(Uint8Array.from(codewords), symbol);
}

/**
 * Checks that a code fits into a symbol in C40.
 * @throws {TwoDDocFault} if it is empty or too large
 */
export function checkFits(code: Uint8Array): void {
  if (smallestOf(code) === undefined) throw tooLarge(code);
}

function smallestOf(code: Uint8Array): { readonly symbol: SymbolSize; readonly encoded: EncodedCode } | undefined {
  if (code.length === 0) throw new TwoDDocFault('the code is empty');
  const encoded = shorter(inC40(code), inC40AndBase256(code));
  const symbol = symbolSizes.find(({ dataCodewords }) => codewordsIn(dataCodewords, encoded) <= dataCodewords);
  return symbol && { symbol, encoded };
}

/** The first one if both are as long. */
function shorter(first: EncodedCode, second: EncodedCode): EncodedCode {
  return codewordsIn(Infinity, second) < codewordsIn(Infinity, first) ? second : first;
}

function tooLarge(code: Uint8Array): TwoDDocFault {
  const codewords = codewordsIn(Infinity, shorter(inC40(code), inC40AndBase256(code)));
  return new TwoDDocFault(
    `the code is too large for a symbol: it takes ${codewords} codewords, and the largest symbol (144 × 144) has ${dataCodewordsMax}`,
  );
}
