import { open } from 'node:fs/promises';

const chunkBytes = 1 << 16;
/** Enough for the number and the time, with which every line begins. */
const headBytes = 64;

/** The beginning of a line. */
export interface LineHead {
  readonly n: number;
  /** Milliseconds since epoch. */
  readonly time: number;
}

/**
 * Returns the offset of the last complete line of a file whose head satisfies the condition; 0 if
 * there is none. Reads the file from its end, only as far as necessary. Returns 0 too, so that the
 * whole file is read, if the lines from the one before it on are not numbered one after the other:
 * somebody has changed them.
 */
export async function lastLineWith(path: string, isWanted: (head: LineHead) => boolean): Promise<number> {
  let found: number | undefined;
  let after: LineHead | undefined;
  for await (const { offset, head } of linesFromEnd(path)) {
    if (head === undefined || (after !== undefined && head.n !== after.n - 1)) return 0;
    if (found !== undefined) return found;
    if (isWanted(head)) found = offset;
    after = head;
  }
  return found ?? 0;
}

/** The complete lines of a file, the last one first. */
async function* linesFromEnd(path: string): AsyncGenerator<{ readonly offset: number; readonly head: LineHead | undefined }> {
  const handle = await open(path, 'r');
  try {
    const chunk = Buffer.alloc(chunkBytes + headBytes);
    // What follows the last line feed is not a complete line.
    let isIncomplete = true;
    for (let end = (await handle.stat()).size; end > 0; end = Math.max(0, end - chunkBytes)) {
      const start = Math.max(0, end - chunkBytes);
      const { bytesRead } = await handle.read(chunk, 0, end - start + headBytes, start);
      const bytes = chunk.subarray(0, bytesRead);
      for (let feed = bytes.subarray(0, end - start).lastIndexOf(0x0a); feed >= 0; feed = bytes.subarray(0, feed).lastIndexOf(0x0a)) {
        if (!isIncomplete) yield { offset: start + feed + 1, head: headOf(bytes.subarray(feed + 1)) };
        isIncomplete = false;
      }
      if (start === 0 && !isIncomplete) yield { offset: 0, head: headOf(bytes) };
    }
  } finally {
    await handle.close();
  }
}

/** Parses the beginning of a line without the rest of its JSON. */
export function headOf(line: Buffer): LineHead | undefined {
  const [, n, time] = /^\{"n":(\d{1,15}),"time":"([^"]{24})"/.exec(line.toString('latin1', 0, headBytes)) ?? [];
  return n === undefined || time === undefined ? undefined : { n: Number(n), time: Date.parse(time) };
}
