import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { warmUp } from '../../../src/twoddoc/code-picture.ts';
import { pictureOf, type PictureFile, type PictureOptions } from '../../../src/twoddoc/picture/picture.ts';
import { symbolOf } from '../../../src/twoddoc/symbol/symbol.ts';
import { symbolSizes } from '../../../src/twoddoc/symbol/symbol-sizes.ts';
import { isLongRun } from '../../support/repetitions.ts';
import { readByOthers, tiffRows } from '../../support/symbol-readers.ts';
import { usualPicture } from '../../support/usual-picture.ts';

const code = Buffer.from(
  `DC04FR000001125E125C0001FR26FR245700010MLLE/SAMPLE/ANGELA\x1d20\x1d\x1f${'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.repeat(3)}`,
);
const positions = ['TOP', 'RIGHT', 'BOTTOM', 'LEFT'] as const;
const formats = ['PNG', 'TIFF'] as const;

/** A code that fills a symbol to the last pair of C40. */
const filling = (dataCodewords: number): Buffer =>
  Buffer.from('DC04FR00B7Q2X9ZKLMP'.repeat(130).slice(0, 3 * Math.floor((dataCodewords - 1) / 2)));

describe.each(symbolSizes)('pictures of $size modules', ({ size, dataCodewords }) => {
  const symbol = symbolOf(filling(dataCodewords));
  const options = positions.flatMap((position, index): PictureOptions[] =>
    // All of them take a while.
    (isLongRun ? formats : [formats[(index + size / 2) % 2] ?? 'PNG']).map((format) => ({ ...usualPicture, position, format })),
  );

  it('are read with the text at each side', async () => {
    expect(symbol.size).toBe(size);
    const read = await Promise.all(options.map(async (option) => readByOthers(pictureOf(symbol, option).content)));
    expect(read).toEqual(options.map(() => ({ dmtxread: filling(dataCodewords), zxing: filling(dataCodewords) })));
  });
});

/** What a program says of a file. */
function judged(program: string, options: readonly string[], content: Uint8Array): { readonly stdout: string; readonly stderr: string } {
  const folder = mkdtempSync(join(tmpdir(), 'signetd-picture-'));
  try {
    const path = join(folder, 'picture');
    writeFileSync(path, content);
    const { stdout, stderr, error } = spawnSync(program, [...options, path], { encoding: 'utf8' });
    if (error !== undefined) throw error;
    return { stdout: stdout.replaceAll(path, 'picture'), stderr };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe.each([
  { modulePixels: 5, dpi: 300, quietZoneModules: 1, position: 'BOTTOM', pixelsPerMetre: 11811 },
  { modulePixels: 3, dpi: 200, quietZoneModules: 4, position: 'LEFT', pixelsPerMetre: 7874 },
  { modulePixels: 32, dpi: 1200, quietZoneModules: 16, position: 'TOP', pixelsPerMetre: 47244 },
] as const)('a picture with $modulePixels pixels a module at $dpi dpi', ({ pixelsPerMetre, ...option }) => {
  const draw = (format: 'PNG' | 'TIFF'): PictureFile => pictureOf(symbolOf(code), { ...usualPicture, ...option, format });

  it('is a PNG of one bit a pixel without a fault', () => {
    const { content, width, height } = draw('PNG');
    const { stdout } = judged('pngcheck', ['-v'], content);
    expect(stdout).toContain(`${width} x ${height} image, 1-bit grayscale, non-interlaced`);
    expect(stdout).toContain(`: ${pixelsPerMetre}x${pixelsPerMetre} pixels/meter (${option.dpi} dpi)`);
    expect(stdout).toContain('No errors detected in picture (4 chunks,');
  });

  it('is a TIFF of one bit a pixel without a warning', () => {
    const { content, width, height } = draw('TIFF');
    const { stdout, stderr } = judged('tiffinfo', ['-D'], content);
    expect(stderr).toBe('');
    for (const line of [
      `Image Width: ${width} Image Length: ${height}`,
      `Resolution: ${option.dpi}, ${option.dpi} pixels/inch`,
      'Bits/Sample: 1',
      'Samples/Pixel: 1',
    ])
      expect(stdout).toContain(line);
    expect(tiffRows(content)).toMatchObject({ width, height });
  });

  it('is read', async () => {
    expect(await readByOthers(draw('PNG').content)).toEqual({ dmtxread: code, zxing: code });
    expect(await readByOthers(draw('TIFF').content)).toEqual({ dmtxread: code, zxing: code });
  });
});

describe('the size of a picture', () => {
  const size = symbolOf(code).size;

  it.each([1, 2, 16])('includes a quiet zone of %i modules', (quietZoneModules) => {
    const { width, height } = pictureOf(symbolOf(code), { ...usualPicture, text: '', quietZoneModules });
    expect([width, height]).toEqual([5 * (size + 2 * quietZoneModules), 5 * (size + 2 * quietZoneModules)]);
  });

  it('includes the text, at the side where it is', () => {
    const side = 5 * (size + 2);
    // Two modules from the symbol, a capital letter of five modules with round parts of a pixel or two more, one module of white.
    const sizes = positions.map((position) => pictureOf(symbolOf(code), { ...usualPicture, position }));
    for (const [index, { width, height }] of sizes.entries()) {
      const [short, long] = index % 2 === 0 ? [width, height] : [height, width];
      expect(short).toBe(side);
      expect([0, 1, 2]).toContain(long - side - 5 * (1 + 5 + 1));
    }
  });

  it('is that of the text if it is wider than the symbol', async () => {
    const text = 'Code 2D-Doc de la société Exemple, 12 rue de l’Église, 57000 METZ';
    const option = { ...usualPicture, text: text.slice(0, 64) };
    const { content, width } = pictureOf(symbolOf(code), option);
    expect(width).toBeGreaterThan(5 * (size + 2));
    expect(await readByOthers(content)).toEqual({ dmtxread: code, zxing: code });
    const turned = pictureOf(symbolOf(code), { ...option, position: 'RIGHT' });
    expect(turned.height).toBe(width);
  });
});

describe('options out of range', () => {
  it.each([
    [{ modulePixels: 2 }, 'modulePixels is 2, not a whole number from 3 to 32'],
    [{ modulePixels: 33 }, 'modulePixels is 33'],
    [{ modulePixels: 4.5 }, 'modulePixels is 4.5'],
    [{ quietZoneModules: 0 }, 'quietZoneModules is 0, not a whole number from 1 to 16'],
    [{ quietZoneModules: 17 }, 'quietZoneModules is 17'],
    [{ dpi: 0 }, 'dpi is 0'],
  ])('%j', (option, message) => {
    expect(() => pictureOf(symbolOf(code), { ...usualPicture, ...option })).toThrow(message);
  });
});

it('can be warmed up', () => {
  expect(warmUp).not.toThrow();
});
