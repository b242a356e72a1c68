import type { Bitmap } from './bitmap.ts';

const runMax = 128;

/** Compresses the rows of a picture one by one with PackBits (TIFF 6.0, section 9). */
export function packedBits({ bytes, rowBytes, height }: Bitmap): Buffer {
  // A row gets longer by one byte for each 128 at most.
  const packed = Buffer.alloc(height * (rowBytes + Math.ceil(rowBytes / runMax)));
  let to = 0;
  let previous = { from: -1, to: 0, end: 0 };
  for (let row = 0; row < height; row += 1) {
    const from = row * rowBytes;
    // Most rows are the same as the one before.
    if (previous.from >= 0 && bytes.subarray(from, from + rowBytes).every((byte, index) => byte === bytes[previous.from + index])) {
      packed.copyWithin(to, previous.to, previous.end);
      to += previous.end - previous.to;
    } else {
      const start = to;
      to = packRow(bytes.subarray(from, from + rowBytes), packed, to);
      previous = { from, to: start, end: to };
    }
  }
  return packed.subarray(0, to);
}

/** Returns where the row ends in `packed`. */
function packRow(row: Uint8Array, packed: Buffer, start: number): number {
  let to = start;
  for (let at = 0; at < row.length;) {
    const repeated = repeatedFrom(row, at);
    if (repeated > 1) {
      packed[to] = 257 - repeated;
      packed[to + 1] = row[at] ?? 0;
      to += 2;
      at += repeated;
      continue;
    }
    // Two equal bytes within others are not worth a run of their own.
    let end = at + 1;
    while (end < row.length && end - at < runMax && repeatedFrom(row, end) < 3) end += 1;
    packed[to] = end - at - 1;
    packed.set(row.subarray(at, end), to + 1);
    to += 1 + end - at;
    at = end;
  }
  return to;
}

/** Returns how often the byte at a place is repeated from there on. */
function repeatedFrom(row: Uint8Array, at: number): number {
  let end = at + 1;
  while (end < row.length && end - at < runMax && row[end] === row[at]) end += 1;
  return end - at;
}
