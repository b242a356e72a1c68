import { gifPicture } from './gif.ts';
import { ImageFault } from './image-fault.ts';
import { jpegPicture } from './jpeg.ts';
import type { Picture } from './picture.ts';
import { pngPicture } from './png.ts';

/** Reads a JPEG, a PNG or a GIF with one frame. @throws {ImageFault} for anything else */
export function readPicture(bytes: Uint8Array): Picture {
  const start = Buffer.from(bytes.subarray(0, 8)).toString('latin1');
  if (start.startsWith('\xff\xd8\xff')) return jpegPicture(bytes);
  if (start === '\x89PNG\r\n\x1a\n') return pngPicture(bytes);
  if (start.startsWith('GIF87a') || start.startsWith('GIF89a')) return gifPicture(bytes);
  throw new ImageFault('the image is no JPEG, PNG or GIF');
}
