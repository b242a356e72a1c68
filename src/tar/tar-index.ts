import { open, type FileHandle } from 'node:fs/promises';
import { blockBytes, fileOf, isExtended, isZero, readHeader, TarFault, tarPadding } from './header.ts';

const entriesMax = 100_000;

/** A file in an archive on disk. */
export interface IndexedEntry {
  readonly name: string;
  /** Offset of the content in the archive. */
  readonly offset: number;
  readonly bytes: number;
}

/**
 * Returns the files of an archive on disk without reading their contents.
 * @throws {TarFault} if it is damaged or cut off, or has two files of one name
 */
export async function tarIndex(path: string): Promise<IndexedEntry[]> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const entries = new Map<string, IndexedEntry>();
    for (let offset = 0; ;) {
      const block = await bytesAt(handle, offset, blockBytes);
      if (isZero(block)) return [...entries.values()];
      let header = readHeader(block);
      offset += blockBytes;
      let extended: Buffer | undefined;
      if (isExtended(header)) {
        extended = await bytesAt(handle, offset, header.bytes);
        offset += header.bytes + tarPadding(header.bytes).length;
        header = readHeader(await bytesAt(handle, offset, blockBytes));
        offset += blockBytes;
      }
      const { name, bytes } = fileOf(header, extended);
      if (offset + bytes > size) throw new TarFault(`the archive is cut off in ${name}`);
      if (entries.size === entriesMax || entries.has(name)) throw new TarFault(`the archive has ${name} twice, or too many files`);
      entries.set(name, { name, offset, bytes });
      offset += bytes + tarPadding(bytes).length;
    }
  } finally {
    await handle.close();
  }
}

async function bytesAt(handle: FileHandle, offset: number, length: number): Promise<Buffer> {
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, offset);
  if (bytesRead < length) throw new TarFault('the archive is cut off');
  return buffer;
}
