import { execFileSync } from 'node:child_process';

/** A page as pdftoppm shows it, at 72 dpi unless told otherwise. */
export interface RenderedPage {
  readonly width: number;
  readonly height: number;
  /** Red, green and blue of a pixel; `x` from the left, `y` from the bottom. */
  colour(x: number, y: number): readonly [number, number, number];
}

/** Renders one page of a PDF; the part that readers show. */
export function renderedPage(pdf: Uint8Array, page = 1, dotsPerInch = 72): RenderedPage {
  const options = ['-r', String(dotsPerInch), '-f', String(page), '-l', String(page), '-cropbox', '-aa', 'no', '-aaVector', 'no', '-'];
  const ppm = execFileSync('pdftoppm', options, { input: pdf, maxBuffer: 256 * 1024 * 1024, stdio: ['pipe', 'pipe', 'ignore'] });
  const header = /^P6\s(\d+)\s(\d+)\s255\s/.exec(ppm.toString('latin1', 0, 64));
  if (header === null) throw new Error('pdftoppm makes a PPM');
  const [width, height] = [Number(header[1]), Number(header[2])];
  const start = header[0].length;
  return {
    ...{ width, height },
    colour(x, y) {
      const at = start + 3 * ((height - 1 - Math.floor(y)) * width + Math.floor(x));
      return [ppm[at] ?? -1, ppm[at + 1] ?? -1, ppm[at + 2] ?? -1];
    },
  };
}

/** Returns the bounds of the pixels that a test accepts; undefined if there is none. */
export function boundsOf(
  page: RenderedPage,
  isPart: (colour: readonly [number, number, number]) => boolean,
): { readonly left: number; readonly bottom: number; readonly right: number; readonly top: number } | undefined {
  let found: { left: number; bottom: number; right: number; top: number } | undefined;
  for (let y = 0; y < page.height; y += 1) {
    for (let x = 0; x < page.width; x += 1) {
      if (!isPart(page.colour(x, y))) continue;
      found ??= { left: x, bottom: y, right: x + 1, top: y + 1 };
      found = {
        left: Math.min(found.left, x),
        bottom: Math.min(found.bottom, y),
        right: Math.max(found.right, x + 1),
        top: Math.max(found.top, y + 1),
      };
    }
  }
  return found;
}
