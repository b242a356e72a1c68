import { crc32, deflateSync } from 'node:zlib';
import type { Bitmap } from './bitmap.ts';

const signature = Buffer.from('89504e470d0a1a0a', 'hex');
const inchesPerMetre = 1 / 0.0254;

/**
 * Writes a PNG file with one bit for each pixel, without transparency (PNG, third edition). `dpi`:
 * pixels of an inch.
 */
export function pngFile(bitmap: Bitmap, dpi: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(bitmap.width, 0);
  header.writeUInt32BE(bitmap.height, 4);
  // Bit depth 1, greyscale; the three bytes of 0 are the only compression and filter method, and no
  // interlace.
  header.set([1, 0, 0, 0, 0], 8);
  const resolution = Buffer.alloc(9);
  const pixelsPerMetre = Math.round(dpi * inchesPerMetre);
  resolution.writeUInt32BE(pixelsPerMetre, 0);
  resolution.writeUInt32BE(pixelsPerMetre, 4);
  resolution.writeUInt8(1, 8);
  return Buffer.concat([
    signature,
    chunk('IHDR', header),
    chunk('pHYs', resolution),
    chunk('IDAT', deflateSync(filteredRows(bitmap))),
    chunk('IEND', Buffer.alloc(0)),
  ]);
}

/** Each row with the filter "none" before it. In greyscale 0 is black. */
function filteredRows({ bytes, rowBytes, height }: Bitmap): Buffer {
  const rows = Buffer.alloc((rowBytes + 1) * height);
  let [to, from] = [0, 0];
  for (let y = 0; y < height; y += 1) {
    to += 1;
    for (let column = 0; column < rowBytes; column += 1, to += 1, from += 1) rows[to] = ~(bytes[from] ?? 0);
  }
  return rows;
}

function chunk(type: string, data: Buffer): Buffer {
  const made = Buffer.alloc(12 + data.length);
  made.writeUInt32BE(data.length, 0);
  made.write(type, 4, 'latin1');
  made.set(data, 8);
  made.writeUInt32BE(crc32(made.subarray(4, 8 + data.length)), 8 + data.length);
  return made;
}
