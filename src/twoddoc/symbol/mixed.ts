import { createRequire } from 'node:module';
import type { raw } from 'bwip-js/node';
import { allCodewords } from './data-matrix.ts';
import { symbolSize } from './symbol-sizes.ts';

/** Digits, the densest content: two in each codeword of the largest symbol. */
const bytesMax = 3116;

/**
 * Returns the data codewords of the smallest symbol for a code, pads included, in the encodations
 * that suit its parts; undefined if it is too large for one. They come out of a symbol, since the
 * library draws, but lists no codewords.
 */
export function mixedCodewords(code: Uint8Array): Uint8Array | undefined {
  if (code.length > bytesMax) return undefined;
  try {
    const [drawn] = library().raw('datamatrix', Buffer.from(code).toString('latin1'), { binarytext: true });
    if (drawn === undefined || !('pixs' in drawn)) throw new Error('bwip-js has drawn no matrix');
    const codewords = allCodewords({ size: drawn.pixx, modules: Uint8Array.from(drawn.pixs) });
    return codewords.subarray(0, symbolSize(drawn.pixx).dataCodewords);
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('bwipp.datamatrixTooMuchData')) return undefined;
    throw error;
  }
}

/**
 * Loaded with the first symbol: most instances draw none of this kind. The module for `import` has
 * another function of the name `raw`.
 */
function library(): { readonly raw: typeof raw } {
  return createRequire(import.meta.url)('bwip-js/node') as { readonly raw: typeof raw };
}
