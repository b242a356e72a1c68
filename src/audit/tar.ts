import { open } from 'node:fs/promises';

/** Size of a header; contents are padded to a multiple of it. */
const blockBytes = 512;
/** The size has eleven octal digits. */
const contentMaxBytes = 8 ** 11 - 1;
const entriesMax = 100_000;

/** A file in an archive. */
export interface TarEntry {
  readonly name: string;
  /** Offset of the content in the archive. */
  readonly offset: number;
  readonly bytes: number;
}

/**
 * Returns the header of a regular file, mode 0600, of user and group 0 (POSIX.1-2017, pax, ustar
 * Interchange Format).
 * @param time milliseconds since the epoch
 */
export function tarHeader(name: string, bytes: number, time: number): Buffer {
  if (Buffer.byteLength(name) > 100 || bytes > contentMaxBytes) throw new RangeError(`${name} does not fit into a tar archive`);
  const header = Buffer.alloc(blockBytes);
  const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, '0')}\0`;
  const put = (text: string, offset: number): void => void header.write(text, offset, 'latin1');
  put(name, 0);
  put(octal(0o600, 7), 100);
  put(octal(0, 7), 108);
  put(octal(0, 7), 116);
  put(octal(bytes, 11), 124);
  put(octal(Math.floor(time / 1000), 11), 136);
  put('0', 156);
  put('ustar\u000000', 257);
  put('root', 265);
  put('root', 297);
  put(`${checksum(header).toString(8).padStart(6, '0')}\0 `, 148);
  return header;
}

/** Returns what follows a content of this size. */
export function tarPadding(bytes: number): Buffer {
  return Buffer.alloc((blockBytes - (bytes % blockBytes)) % blockBytes);
}

/** Ends an archive. */
export const tarEnd = Buffer.alloc(2 * blockBytes);

/**
 * Returns the files of an archive without reading their contents. Only archives of regular files
 * are accepted.
 * @throws {Error} if it is not such an archive, or is cut off
 */
export async function tarEntries(path: string): Promise<TarEntry[]> {
  const handle = await open(path, 'r');
  try {
    const { size } = await handle.stat();
    const entries: TarEntry[] = [];
    for (let offset = 0; ;) {
      const header = Buffer.alloc(blockBytes);
      const { bytesRead } = await handle.read(header, 0, blockBytes, offset);
      if (bytesRead < blockBytes) throw new Error('the archive is cut off');
      if (header.every((byte) => byte === 0)) return entries;
      const entry = entryOf(header, offset + blockBytes);
      if (entry.offset + entry.bytes > size) throw new Error(`the archive is cut off in ${entry.name}`);
      if (entries.length === entriesMax || entries.some(({ name }) => name === entry.name))
        throw new Error(`the archive has ${entry.name} twice, or too many files`);
      entries.push(entry);
      offset = entry.offset + entry.bytes + tarPadding(entry.bytes).length;
    }
  } finally {
    await handle.close();
  }
}

function entryOf(header: Buffer, offset: number): TarEntry {
  const text = (start: number, length: number): string => header.toString('latin1', start, start + length).replace(/[\0 ].*$/s, '');
  const octal = (start: number, length: number): number => {
    const digits = text(start, length);
    if (!/^[0-7]+$/.test(digits)) throw new Error('it is not a tar archive of regular files');
    return parseInt(digits, 8);
  };
  const isUstar = header.toString('latin1', 257, 262) === 'ustar';
  if (!isUstar || octal(148, 8) !== checksum(header)) throw new Error('it is not a tar archive');
  const [name, type, prefix] = [text(0, 100), text(156, 1), text(345, 155)];
  if (type !== '0' || prefix !== '' || name === '') throw new Error('it is not a tar archive of regular files');
  return { name, offset, bytes: octal(124, 12) };
}

/** Sum of the header's bytes, with spaces instead of the checksum itself. */
function checksum(header: Buffer): number {
  return header.reduce((sum, byte, index) => sum + (index >= 148 && index < 156 ? 0x20 : byte), 0);
}
