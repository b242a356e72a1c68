import { inflateSync } from 'node:zlib';
import { PNG } from 'pngjs';
import { checkSize, ImageFault } from '../../image/image-fault.ts';
import { pngPicture } from '../../image/png.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { Bitmap } from './bitmap.ts';

/** Reads a PNG file; in colours, what is darker than half is black. @throws {TwoDDocFault} */
export function pngBitmap(file: Uint8Array): Bitmap {
  try {
    const { width, height, colours, bitsPerComponent, encoding, bytes } = pngPicture(file);
    const isBilevel = colours.space === 'GRAY' && bitsPerComponent === 1 && encoding.kind === 'PNG_ROWS';
    return (isBilevel ? bilevelRows(new Bitmap(width, height), inflateSync(bytes)) : undefined) ?? decodedPixels(file, width, height);
  } catch (error) {
    if (error instanceof ImageFault) throw new TwoDDocFault(`the picture cannot be read: ${error.message}`, { cause: error });
    throw error;
  }
}

/** Rows as this service writes them; undefined if one has a filter. */
function bilevelRows(bitmap: Bitmap, rows: Uint8Array): Bitmap | undefined {
  const { width, height, rowBytes, bytes } = bitmap;
  for (let y = 0; y < height; y += 1) {
    const start = y * (rowBytes + 1);
    if (rows[start] !== 0) return undefined;
    bytes.set(
      rows.subarray(start + 1, start + 1 + rowBytes).map((byte) => ~byte),
      y * rowBytes,
    );
    const last = (y + 1) * rowBytes - 1;
    bytes[last] = (bytes[last] ?? 0) & (0xff << (8 * rowBytes - width));
  }
  return bitmap;
}

function decodedPixels(file: Uint8Array, width: number, height: number): Bitmap {
  checkSize(width, height, { isDecoded: true });
  const pixels = PNG.sync.read(Buffer.from(file)).data;
  const bitmap = new Bitmap(width, height);
  for (let index = 0; index < width * height; index += 1) {
    const [red = 0, green = 0, blue = 0, opacity = 0] = pixels.subarray(4 * index, 4 * index + 4);
    const [x, y] = [index % width, Math.floor(index / width)];
    if (opacity >= 128 && red + green + blue < 3 * 128) bitmap.blacken(y, x, x + 1);
  }
  return bitmap;
}
