/** Thrown for an image that cannot be used. The message is for callers. */
export class ImageFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ImageFault';
  }
}

/** Enough for a page at 600 dpi. */
export const pixelsMax = 40_000_000;
/** Pixels that are decoded take some bytes each. */
const decodedPixelsMax = 9_000_000;

/**
 * Checks a size before anything is made of it. `isDecoded`: its pixels will be.
 * @throws {ImageFault}
 */
export function checkSize(width: number, height: number, { isDecoded }: { readonly isDecoded: boolean }): void {
  if (width === 0 || height === 0) throw new ImageFault('the image has no pixels');
  const most = isDecoded ? decodedPixelsMax : pixelsMax;
  if (width * height > most)
    throw new ImageFault(`the image has ${width} × ${height} pixels; at most ${most} are supported in an image of this kind`);
}
