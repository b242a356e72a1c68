import { open } from 'node:fs/promises';

const chunkBytes = 1 << 20;
/** Far longer than any record: a hundred digests take 10 kB. */
export const maxLineBytes = 1 << 20;

export interface ReadLine {
  /** Without its line feed. */
  readonly bytes: Buffer;
  /** False for bytes after the last line feed, and for a line that is too long to be read. */
  readonly isWhole: boolean;
  /** Offset of the line's end in the file, including its line feed. */
  readonly end: number;
}

/**
 * Yields the lines of a file of any size, from the offset of a line's start up to another offset, or
 * to the end.
 */
export async function* readLines(path: string, from = 0, to = Infinity): AsyncGenerator<ReadLine> {
  const handle = await open(path, 'r');
  try {
    let rest = Buffer.alloc(0);
    let end = from;
    for (let position = from; ;) {
      const wanted = Math.min(chunkBytes, to - position);
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(wanted), 0, wanted, position);
      if (bytesRead === 0) break;
      position += bytesRead;
      const data = rest.length === 0 ? buffer.subarray(0, bytesRead) : Buffer.concat([rest, buffer.subarray(0, bytesRead)]);
      let start = 0;
      for (let feed = data.indexOf(0x0a); feed >= 0; feed = data.indexOf(0x0a, start)) {
        end += feed + 1 - start;
        yield { bytes: data.subarray(start, feed), isWhole: true, end };
        start = feed + 1;
      }
      rest = data.subarray(start);
      if (rest.length > maxLineBytes) break;
    }
    if (rest.length > 0) yield { bytes: rest, isWhole: false, end: end + rest.length };
  } finally {
    await handle.close();
  }
}
