import { blockBytes, fileOf, isExtended, isZero, readHeader, TarFault, tarPadding } from './header.ts';

/** A file of an archive that is being read. */
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
    const block = await input.take(blockBytes);
    if (isZero(block)) break;
    let header = readHeader(block);
    let extended: Buffer | undefined;
    if (isExtended(header)) {
      extended = await input.take(header.bytes);
      await input.take(tarPadding(header.bytes).length);
      header = readHeader(await input.take(blockBytes));
    }
    const { name, bytes } = fileOf(header, extended);
    const content = input.pieces(bytes);
    yield { name, bytes, content };
    for await (const piece of content) void piece;
    if (!isZero(await input.take(tarPadding(bytes).length))) throw new TarFault('the archive has bytes between its entries');
  }
  if (!isZero(await input.take(blockBytes)) || !(await input.isAtEnd())) throw new TarFault('the archive has bytes after its end');
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
