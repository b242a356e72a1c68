import { createReadStream } from 'node:fs';

/**
 * Returns a file, or standard input for `-`; undefined if it is longer than `bytesMax`.
 * @throws {Error} of the file system
 */
export async function readBounded(file: string, bytesMax: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of file === '-' ? process.stdin : createReadStream(file)) {
    const bytes = Buffer.from(chunk as Uint8Array);
    length += bytes.length;
    // Leaving the loop closes the stream, so devices without an end are no trouble.
    if (length > bytesMax) return undefined;
    chunks.push(bytes);
  }
  return Buffer.concat(chunks);
}
