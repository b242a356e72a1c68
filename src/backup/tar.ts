/*
 * The archive format of POSIX.1-1988 (ustar) with the extended headers of POSIX.1-2001 (pax) for
 * long names and big files: what every tar reads. Written and read as a stream.
 */

const blockBytes = 512;
const nameBytes = 100;
/** Sizes in a plain header have 11 octal digits. */
const plainSizeMax = 0o77777777777;
/** Far longer than any path. */
const extendedMaxBytes = 1 << 20;

/** The archive is not one that this program wrote. */
export class TarFault extends Error {}

export interface TarEntry {
  readonly name: string;
  readonly bytes: number;
  /** Permission bits. */
  readonly mode: number;
  /** Seconds since epoch. */
  readonly modifiedAt: number;
}

/** Returns the header of an entry; its content and `padding` follow. */
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
    padding(extended.length),
    plainHeader(cut, '0'),
  ]);
}

/** Returns the zeros that fill the last block of a content. */
export function padding(bytes: number): Buffer {
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
    header.write(
      `${Math.floor(value)
        .toString(8)
        .padStart(width - 1, '0')}\0`,
      offset,
      width,
      'latin1',
    );
  };
  octal(mode, 100, 8);
  octal(0, 108, 8);
  octal(0, 116, 8);
  octal(bytes, 124, 12);
  octal(Math.max(0, modifiedAt), 136, 12);
  header.write(' '.repeat(8), 148, 8, 'latin1');
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

export interface ReadEntry {
  readonly name: string;
  readonly bytes: number;
  /** Must be read to its end before the next entry. */
  readonly content: AsyncGenerator<Buffer>;
}

/**
 * Yields the files of an archive that arrives in pieces, which is read to its end.
 * @throws {TarFault}
 */
export async function* readTar(source: AsyncIterable<Uint8Array>): AsyncGenerator<ReadEntry> {
  const input = new Input(source);
  for (;;) {
    let header = await input.take(blockBytes);
    if (isZero(header)) break;
    let extended: ReadonlyMap<string, string> = new Map();
    if (typeOf(header) === 'x') {
      const bytes = sizeOf(header);
      if (bytes > extendedMaxBytes) throw new TarFault('the archive has an extended header that is too long');
      extended = paxRecords(await input.take(bytes));
      await input.take(padding(bytes).length);
      header = await input.take(blockBytes);
    }
    if (typeOf(header) !== '0') throw new TarFault('the archive has an entry that is not a file');
    const bytes = extended.has('size') ? Number(extended.get('size')) : sizeOf(header);
    if (!Number.isSafeInteger(bytes) || bytes < 0) throw new TarFault('the archive has an entry of unknown size');
    const content = input.pieces(bytes);
    yield { name: extended.get('path') ?? textAt(header, 0, nameBytes), bytes, content };
    for await (const piece of content) void piece;
    if (!isZero(await input.take(padding(bytes).length))) throw new TarFault('the archive has bytes between its entries');
  }
  if (!isZero(await input.take(blockBytes)) || !(await input.isAtEnd())) throw new TarFault('the archive has bytes after its end');
}

function typeOf(header: Buffer): string {
  const stated = Number.parseInt(textAt(header, 148, 8).trim(), 8);
  if (stated !== checksum(header)) throw new TarFault('the archive has a header whose checksum is wrong');
  return header.toString('latin1', 156, 157);
}

function sizeOf(header: Buffer): number {
  return Number.parseInt(textAt(header, 124, 12), 8);
}

function textAt(header: Buffer, offset: number, width: number): string {
  const field = header.subarray(offset, offset + width);
  const end = field.indexOf(0);
  return field.toString('utf8', 0, end < 0 ? width : end);
}

function paxRecords(bytes: Buffer): ReadonlyMap<string, string> {
  const records = new Map<string, string>();
  for (let offset = 0; offset < bytes.length;) {
    const space = bytes.indexOf(0x20, offset);
    const length = Number(bytes.toString('latin1', offset, Math.max(space, offset)));
    if (!Number.isSafeInteger(length) || length < 5) throw new TarFault('the archive has an extended header that cannot be read');
    const [, key = '', value = ''] = /^([^=]*)=([\s\S]*)\n$/.exec(bytes.toString('utf8', space + 1, offset + length)) ?? [];
    records.set(key, value);
    offset += length;
  }
  return records;
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

/** Bytes that arrive in pieces. */
class Input {
  readonly #source: AsyncIterator<Uint8Array>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Uint8Array>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  async take(bytes: number): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const piece of this.pieces(bytes)) pieces.push(piece);
    return Buffer.concat(pieces);
  }

  async *pieces(bytes: number): AsyncGenerator<Buffer> {
    for (let left = bytes; left > 0;) {
      if (this.#rest.length === 0 && !(await this.#fill())) throw new TarFault('the archive is cut off');
      const piece = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(piece.length);
      left -= piece.length;
      yield piece;
    }
  }

  async isAtEnd(): Promise<boolean> {
    return this.#rest.length === 0 && !(await this.#fill());
  }

  /** Returns false at the end. */
  async #fill(): Promise<boolean> {
    for (;;) {
      const next: IteratorResult<Uint8Array, unknown> = await this.#source.next();
      if (next.done === true) return false;
      const { buffer, byteOffset, length } = next.value;
      if (length === 0) continue;
      this.#rest = Buffer.from(buffer, byteOffset, length);
      return true;
    }
  }
}
