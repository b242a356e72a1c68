/*
 * The archive format of POSIX.1-1988 (ustar) with the extended headers of POSIX.1-2001 (pax) for
 * long names and big files, which every tar reads. Only regular files are written and read.
 */

export const blockBytes = 512;
const nameBytes = 100;
/** Sizes in a plain header have 11 octal digits. */
const plainSizeMax = 0o77777777777;
/** Far longer than any path. */
const extendedMaxBytes = 1 << 20;

/** The archive is damaged, or not one of this form. */
export class TarFault extends Error {}

export interface TarEntry {
  readonly name: string;
  readonly bytes: number;
  /** Permission bits. */
  readonly mode: number;
  /** Seconds since epoch. */
  readonly modifiedAt: number;
}

/** Returns the header of an entry, with user and group 0; its content and `tarPadding` follow. */
export function tarHeader(entry: TarEntry): Buffer {
  const records = [
    ...(Buffer.byteLength(entry.name) > nameBytes ? [paxRecord('path', entry.name)] : []),
    ...(entry.bytes > plainSizeMax ? [paxRecord('size', String(entry.bytes))] : []),
  ];
  if (records.length === 0) return plainHeader(entry, '0');
  const extended = Buffer.from(records.join(''));
  const cut = {
    ...entry,
    name: Buffer.from(entry.name).subarray(0, nameBytes).toString('latin1'),
    bytes: Math.min(entry.bytes, plainSizeMax),
  };
  return Buffer.concat([
    plainHeader({ ...entry, name: 'pax-header', bytes: extended.length }, 'x'),
    extended,
    tarPadding(extended.length),
    plainHeader(cut, '0'),
  ]);
}

/** Returns the zeros that fill the last block of a content. */
export function tarPadding(bytes: number): Buffer {
  return Buffer.alloc((blockBytes - (bytes % blockBytes)) % blockBytes);
}

/** The end of an archive. */
export const tarEnd = Buffer.alloc(2 * blockBytes);

/** `<length of the record> <key>=<value>\n`, where the length counts itself. */
function paxRecord(key: string, value: string): string {
  const rest = ` ${key}=${value}\n`;
  let length = Buffer.byteLength(rest);
  length += String(length + String(length).length).length;
  return `${length}${rest}`;
}

function plainHeader({ name, bytes, mode, modifiedAt }: TarEntry, type: '0' | 'x'): Buffer {
  const header = Buffer.alloc(blockBytes);
  header.write(name, 0, nameBytes, 'latin1');
  if (type === '0') header.write(name, 0, nameBytes, 'utf8');
  const octal = (value: number, offset: number, width: number): void => {
    const digits = Math.floor(value).toString(8);
    header.write(`${digits.padStart(width - 1, '0')}\0`, offset, width, 'latin1');
  };
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(bytes, 124, 12);
  octal(Math.max(0, modifiedAt), 136, 12);
  header.write(type, 156, 1, 'latin1');
  header.write('ustar\x0000', 257, 8, 'latin1');
  header.write('root', 265, 32, 'latin1');
  header.write('root', 297, 32, 'latin1');
  header.write(`${checksum(header).toString(8).padStart(6, '0')}\0 `, 148, 8, 'latin1');
  return header;
}

/** Sum of the header's bytes, with its own field as spaces. */
function checksum(header: Buffer): number {
  return header.reduce((sum, byte, offset) => sum + (offset >= 148 && offset < 156 ? 0x20 : byte), 0);
}

/** What a block says of the content that follows it. */
export interface ReadHeader {
  readonly type: string;
  readonly name: string;
  readonly bytes: number;
}

/** Reads a block that is not zero. @throws {TarFault} */
export function readHeader(block: Buffer): ReadHeader {
  if (block.toString('latin1', 257, 262) !== 'ustar') throw new TarFault('it is not a tar archive');
  if (octalAt(block, 148, 8) !== checksum(block)) throw new TarFault('the archive has a header whose checksum is wrong');
  // Long names have an extended header instead.
  if (textAt(block, 345, 155) !== '') throw new TarFault('the archive has a name with a prefix');
  return { type: textAt(block, 156, 1), name: textAt(block, 0, nameBytes), bytes: octalAt(block, 124, 12) };
}

/**
 * Whether an extended header follows, which is of the file after it.
 * @throws {TarFault} if it is too long
 */
export function isExtended({ type, bytes }: ReadHeader): boolean {
  if (type === 'x' && bytes > extendedMaxBytes) throw new TarFault('the archive has an extended header that is too long');
  return type === 'x';
}

/**
 * Returns the name and the size of the file that follows.
 * @param extended content of the extended header before it
 * @throws {TarFault}
 */
export function fileOf(header: ReadHeader, extended: Buffer | undefined): Pick<TarEntry, 'name' | 'bytes'> {
  if (header.type !== '0') throw new TarFault('the archive has an entry that is not a file');
  const records = extended === undefined ? new Map<string, string>() : paxRecords(extended);
  const name = records.get('path') ?? header.name;
  const size = records.get('size');
  const bytes = size === undefined ? header.bytes : /^[0-9]+$/.test(size) ? Number(size) : Number.NaN;
  if (name === '' || !Number.isSafeInteger(bytes)) throw new TarFault('the archive has an entry of unknown name or size');
  return { name, bytes };
}

function octalAt(block: Buffer, offset: number, width: number): number {
  const digits = textAt(block, offset, width).trim();
  if (!/^[0-7]+$/.test(digits)) throw new TarFault('the archive has a header that cannot be read');
  return Number.parseInt(digits, 8);
}

function textAt(block: Buffer, offset: number, width: number): string {
  const field = block.subarray(offset, offset + width);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? width : end);
}

/**
 * Reads `<length of the record> <key>=<value>\n` again and again, to the last byte (POSIX pax,
 * "pax Extended Header"). A record that cannot be read may have been the name or the size of the
 * file, so it is no less an error than one of these.
 */
function paxRecords(bytes: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let offset = 0; offset < bytes.length;) {
    const space = bytes.indexOf(0x20, offset);
    const digits = bytes.toString('latin1', offset, Math.max(space, offset));
    const end = offset + (/^[0-9]+$/.test(digits) ? Number(digits) : Number.NaN);
    const [, key, value] = end <= bytes.length ? (/^([^=]+)=([\s\S]*)\n$/.exec(bytes.toString('utf8', space + 1, end)) ?? []) : [];
    if (key === undefined || value === undefined) throw new TarFault('the archive has an extended header that cannot be read');
    records.set(key, value);
    offset = end;
  }
  return records;
}

export function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}
