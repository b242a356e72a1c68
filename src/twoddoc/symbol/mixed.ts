import { createRequire } from 'node:module';
import type { raw } from 'bwip-js/node';
import type { DataMatrix } from './data-matrix.ts';

/** Digits, the densest content: two in each codeword of the largest symbol. */
const bytesMax = 3116;

/** Returns the smallest symbol for a code in the encodations that suit its parts; undefined if it is too large for one. */
export function mixedSymbol(code: Uint8Array): DataMatrix | undefined {
  if (code.length > bytesMax) return undefined;
  try {
    const [drawn] = library().raw('datamatrix', Buffer.from(code).toString('latin1'), { binarytext: true });
    if (drawn === undefined || !('pixs' in drawn)) throw new Error('bwip-js has drawn no matrix');
    return { size: drawn.pixx, modules: Uint8Array.from(drawn.pixs) };
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('bwipp.datamatrixTooMuchData')) return undefined;
    throw error;
  }
}

/** Loaded with the first symbol: most instances draw none of this kind. */
function library(): { readonly raw: typeof raw } {
  return createRequire(import.meta.url)('bwip-js/node') as { readonly raw: typeof raw };
}
