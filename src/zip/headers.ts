/**
 * The records of a ZIP container (PKWARE APPNOTE 6.3.10), without ZIP64, extra fields, comments and
 * data descriptors. Sizes and CRC-32 stand in the local headers, since readers of streams cannot
 * find the end of a stored entry whose size comes after it. The libraries that stream ZIP (fflate,
 * yazl) write data descriptors.
 */

/** What the records of an entry say about it. */
export interface EntryHeader {
  readonly name: string;
  readonly method: 'STORED' | 'DEFLATED';
  /** CRC-32 of the content before compression. */
  readonly crc32: number;
  /** Size of the content. */
  readonly bytes: number;
  /** Size in the container. */
  readonly storedBytes: number;
}

/** Date and time as MS-DOS has them, in steps of two seconds and without a time zone (4.4.6). */
export interface DosTime {
  readonly date: number;
  readonly time: number;
}

const methods = { STORED: 0, DEFLATED: 8 } as const satisfies Record<EntryHeader['method'], number>;
/** 2.0: DEFLATE, and names with folders (4.4.3). */
const versionNeeded = 20;
/** Version 2.0, attributes as on Unix (4.4.2): readers take the names as they are. */
const versionMadeBy = (3 << 8) | versionNeeded;
/** A regular file that its owner can write and everyone can read (4.4.15). */
const fileMode = 0o100644;
/** Bit 11: the name is UTF-8 (4.4.4). */
const utf8Names = 1 << 11;

const localBytes = 30;
const centralBytes = 46;
const endBytes = 22;

export function localHeaderBytes(name: string): number {
  return localBytes + Buffer.byteLength(name);
}

/** Returns the size of the central directory of entries with these names, and of its end. */
export function directoryBytes(names: readonly string[]): number {
  return names.reduce((sum, name) => sum + centralBytes + Buffer.byteLength(name), endBytes);
}

/** Returns the header that the content of an entry follows (4.3.7). */
export function localHeader(entry: EntryHeader, modified: DosTime): Buffer {
  const header = Buffer.alloc(localHeaderBytes(entry.name));
  header.write('PK\x03\x04', 'latin1');
  writeCommon(header, 4, entry, modified);
  header.write(entry.name, localBytes, 'utf8');
  return header;
}

/**
 * Returns what follows the last entry: the central directory and its end (4.3.12, 4.3.16).
 * `entries`: in the order of the container, which has nothing before, between and after them.
 */
export function centralDirectory(entries: readonly EntryHeader[], modified: DosTime): Buffer {
  const names = entries.map(({ name }) => name);
  const directory = Buffer.alloc(directoryBytes(names));
  let at = 0;
  let offset = 0;
  for (const entry of entries) {
    directory.write('PK\x01\x02', at, 'latin1');
    directory.writeUInt16LE(versionMadeBy, at + 4);
    writeCommon(directory, at + 6, entry, modified);
    directory.writeUInt32LE(fileMode * 0x1_0000, at + 38);
    directory.writeUInt32LE(offset, at + 42);
    at += centralBytes + directory.write(entry.name, at + centralBytes, 'utf8');
    offset += localHeaderBytes(entry.name) + entry.storedBytes;
  }
  directory.write('PK\x05\x06', at, 'latin1');
  directory.writeUInt16LE(entries.length, at + 8);
  directory.writeUInt16LE(entries.length, at + 10);
  directory.writeUInt32LE(at, at + 12);
  directory.writeUInt32LE(offset, at + 16);
  return directory;
}

/**
 * Writes the fields that both headers of an entry have: from the version to the length of the name.
 */
function writeCommon(header: Buffer, at: number, { name, method, crc32, bytes, storedBytes }: EntryHeader, { date, time }: DosTime): void {
  const nameBytes = Buffer.byteLength(name);
  header.writeUInt16LE(versionNeeded, at);
  header.writeUInt16LE(nameBytes === name.length ? 0 : utf8Names, at + 2);
  header.writeUInt16LE(methods[method], at + 4);
  header.writeUInt16LE(time, at + 6);
  header.writeUInt16LE(date, at + 8);
  header.writeUInt32LE(crc32, at + 10);
  header.writeUInt32LE(storedBytes, at + 14);
  header.writeUInt32LE(bytes, at + 18);
  header.writeUInt16LE(nameBytes, at + 22);
}

/**
 * Returns a time as headers have it, in UTC, so that every machine writes the same bytes.
 * @throws {RangeError} for a time that headers cannot hold
 */
export function dosTime(moment: Date): DosTime {
  const year = moment.getUTCFullYear();
  if (!(year >= 1980 && year <= 2107)) throw new RangeError('a ZIP entry holds a time between 1980 and 2107');
  return {
    date: ((year - 1980) << 9) | ((moment.getUTCMonth() + 1) << 5) | moment.getUTCDate(),
    time: (moment.getUTCHours() << 11) | (moment.getUTCMinutes() << 5) | (moment.getUTCSeconds() >> 1),
  };
}
