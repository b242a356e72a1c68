/** Thrown for an image that cannot be used. The message is for callers. */
export class ImageFault extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ImageFault';
  }
}

/** Enough for a page at 600 dpi. */
const pixelsMax = 40_000_000;

/** Checks a size before the pixels are decoded. @throws {ImageFault} */
export function checkSize(width: number, height: number): void {
  if (width === 0 || height === 0) throw new ImageFault('the image has no pixels');
  if (width * height > pixelsMax) throw new ImageFault(`the image has ${width} × ${height} pixels; at most ${pixelsMax} are supported`);
}
