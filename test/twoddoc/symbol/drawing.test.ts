import { createRequire } from 'node:module';
import type { raw } from 'bwip-js/node';
import { describe, expect, it } from 'vitest';
import { pictureOf } from '../../../src/twoddoc/picture/picture.ts';
import { allCodewords, dataCodewords, drawnSymbol } from '../../../src/twoddoc/symbol/data-matrix.ts';
import { symbolSizes } from '../../../src/twoddoc/symbol/symbol-sizes.ts';
import { readByOthers } from '../../support/symbol-readers.ts';
import { usualPicture } from '../../support/usual-picture.ts';

// The module for `import` has another function of this name.
const bwipJs = createRequire(import.meta.url)('bwip-js/node') as { readonly raw: typeof raw };

/** Codewords of ASCII, so that every one is read as a byte. */
const someCodewords = (count: number): Uint8Array => Uint8Array.from({ length: count }, (_, index) => 1 + ((index * 37 + 5) % 128));

describe.each(symbolSizes)('a symbol of $size modules', (symbol) => {
  const data = someCodewords(symbol.dataCodewords);
  const drawn = drawnSymbol(data, symbol);

  it('has the modules that bwip-js draws', () => {
    const text = Array.from(data, (codeword) => `^${String(codeword).padStart(3, '0')}`).join('');
    const [theirs] = bwipJs.raw('datamatrix', text, `raw version=${symbol.size}x${symbol.size}`);
    const matrix = { size: symbol.size, modules: Uint8Array.from(theirs !== undefined && 'pixs' in theirs ? theirs.pixs : []) };
    // Bwip-js begins the error codewords of 144 × 144 with another block than the standard (ISO/IEC 16022, annex A).
    if (symbol.size === 144) expect(allCodewords(matrix).subarray(0, data.length)).toEqual(data);
    else expect(matrix).toEqual(drawn);
  });

  it('is read', async () => {
    const bytes = Buffer.from(data.map((codeword) => codeword - 1));
    expect(await readByOthers(pictureOf(drawn, usualPicture).content)).toEqual({ dmtxread: bytes, zxing: bytes });
    expect(dataCodewords(drawn)).toEqual(data);
  });

  it('is damaged if one module of its codewords is another', () => {
    for (const at of [symbol.size + 1, 3 * symbol.size - 2, symbol.size * (symbol.size - 2) + 1]) {
      const modules = Uint8Array.from(drawn.modules);
      modules[at] = 1 - (modules[at] ?? 0);
      expect(() => dataCodewords({ size: symbol.size, modules })).toThrow('the symbol is damaged');
    }
  });
});
