import type { Bitmap } from './bitmap.ts';
import { packedBits } from './packed-bits.ts';

const [short, long, rational] = [3, 4, 5];
const headerBytes = 8;
const packBits = 32773;
const inch = 2;

/**
 * Writes a bilevel TIFF file (TIFF 6.0, section 4): one strip, compressed with PackBits, which
 * every reader of TIFF knows, as section 9 has it. `dpi`: pixels of an inch.
 */
export function tiffFile(bitmap: Bitmap, dpi: number): Buffer {
  const strip = packedBits(bitmap);
  const resolutionAt = headerBytes + strip.length + (strip.length % 2);
  const directoryAt = resolutionAt + 8;
  const fields = [
    [256, long, bitmap.width],
    [257, long, bitmap.height],
    [258, short, 1],
    [259, short, packBits],
    // 0 is white.
    [262, short, 0],
    [273, long, headerBytes],
    // Row 0 is at the top, column 0 at the left.
    [274, short, 1],
    [277, short, 1],
    [278, long, bitmap.height],
    [279, long, strip.length],
    [282, rational, resolutionAt],
    [283, rational, resolutionAt],
    [296, short, inch],
  ] as const;
  const file = Buffer.alloc(directoryAt + 2 + 12 * fields.length + 4);
  file.write('II', 0, 'latin1');
  file.writeUInt16LE(42, 2);
  file.writeUInt32LE(directoryAt, 4);
  file.set(strip, headerBytes);
  file.writeUInt32LE(dpi, resolutionAt);
  file.writeUInt32LE(1, resolutionAt + 4);
  file.writeUInt16LE(fields.length, directoryAt);
  for (const [index, [tag, type, value]] of fields.entries()) {
    const at = directoryAt + 2 + 12 * index;
    file.writeUInt16LE(tag, at);
    file.writeUInt16LE(type, at + 2);
    file.writeUInt32LE(1, at + 4);
    // A short stands in the first two bytes, which is the same in this byte order.
    file.writeUInt32LE(value, at + 8);
  }
  return file;
}
