import { pixelsMax } from '../../image/image-fault.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { Bitmap } from './bitmap.ts';

/** The fields that are needed, by the values that this service writes (`tiff-file.ts`). */
const written: readonly (readonly [tag: number, value: number])[] = [
  [258, 1],
  [259, 32773],
  [262, 0],
];

/**
 * Reads a TIFF file of this service: bilevel, one strip, PackBits.
 * @throws {TwoDDocFault} for any other
 */
export function tiffBitmap(file: Uint8Array): Bitmap {
  const view = Buffer.from(file.buffer, file.byteOffset, file.length);
  const fields = fieldsOf(view);
  if (fields === undefined || written.some(([tag, value]) => fields.get(tag) !== value)) throw notOurs();
  const [width = 0, height = 0, start = 0, length = 0] = [256, 257, 273, 279].map((tag) => fields.get(tag));
  if (width === 0 || height === 0 || width * height > pixelsMax || start + length > view.length || fields.get(278) !== height)
    throw notOurs();
  const bitmap = new Bitmap(width, height);
  if (!unpack(view.subarray(start, start + length), bitmap.bytes))
    throw new TwoDDocFault('the picture cannot be read: the TIFF is damaged');
  return bitmap;
}

/** Fields of the first directory with one value; undefined if there is no directory. */
function fieldsOf(view: Buffer): ReadonlyMap<number, number> | undefined {
  if (view.length < 8) return undefined;
  const at = view.readUInt32LE(4);
  if (at + 2 > view.length) return undefined;
  const count = view.readUInt16LE(at);
  if (at + 2 + 12 * count > view.length) return undefined;
  return new Map(
    Array.from({ length: count }, (_, index): [number, number] => {
      const field = at + 2 + 12 * index;
      return [view.readUInt16LE(field), view.readUInt32LE(field + 8)];
    }),
  );
}

/** Returns whether the bytes are as many as there is room for (TIFF 6.0, section 9). */
function unpack(packed: Uint8Array, room: Uint8Array): boolean {
  let to = 0;
  for (let at = 0; at < packed.length;) {
    const head = packed[at] ?? 0;
    const isRun = head > 128;
    const length = isRun ? 257 - head : head + 1;
    if (head === 128) {
      at += 1;
      continue;
    }
    const bytes = packed.subarray(at + 1, at + 1 + (isRun ? 1 : length));
    if (to + length > room.length || bytes.length < (isRun ? 1 : length)) return false;
    if (isRun) room.fill(bytes[0] ?? 0, to, to + length);
    else room.set(bytes, to);
    to += length;
    at += 1 + bytes.length;
  }
  return to === room.length;
}

function notOurs(): TwoDDocFault {
  return new TwoDDocFault('the TIFF was not made by this service');
}
