import { open } from 'node:fs/promises';
import { auditFiles } from './file-names.ts';

const chunkBytes = 1 << 16;
/** More than a page of the longest records that are usual. */
const readMaxBytes = 4 << 20;

/**
 * Returns the last complete lines of the log, the newest first. Reads the files from their ends,
 * only as far as necessary, so that it takes as long with a long log as with a short one.
 */
export async function lastLines(directory: string, count: number): Promise<string[]> {
  const lines: string[] = [];
  let leftBytes = readMaxBytes;
  for (const { path } of (await auditFiles(directory)).toReversed()) {
    if (lines.length >= count || leftBytes <= 0) break;
    const handle = await open(path, 'r');
    try {
      let start = (await handle.stat()).size;
      let bytes = Buffer.alloc(0);
      // One line feed more than lines: the one before the first of them.
      while (start > 0 && leftBytes > 0 && feedsIn(bytes) <= count - lines.length) {
        const length = Math.min(chunkBytes, start);
        start -= length;
        leftBytes -= length;
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, start);
        bytes = Buffer.concat([buffer.subarray(0, bytesRead), bytes]);
      }
      // What follows the last line feed is not a complete line, nor is what begins inside the file.
      const whole = bytes
        .toString('utf8')
        .split('\n')
        .slice(start === 0 ? 0 : 1, -1);
      lines.push(...whole.toReversed().slice(0, count - lines.length));
    } finally {
      await handle.close();
    }
  }
  return lines;
}

function feedsIn(bytes: Buffer): number {
  let feeds = 0;
  for (let feed = bytes.indexOf(0x0a); feed >= 0; feed = bytes.indexOf(0x0a, feed + 1)) feeds += 1;
  return feeds;
}
