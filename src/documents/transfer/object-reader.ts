import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import type { ObjectStream } from '../../outgoing/s3/object-stream.ts';
import type { TransferFileRow } from '../../state/tables/transfer-files.ts';
import type { ContentReader } from './contents.ts';

const copiedAtOnceBytes = 1024 * 1024;

/** Waits for a request to the object store, whose errors it converts. */
type Asked = <T>(work: Promise<T>) => Promise<T>;

/** Reads an object in order. Of one that is not what was stored, the end is withheld. */
export class ObjectReader implements ContentReader {
  readonly #stream: ObjectStream;
  readonly #file: Pick<TransferFileRow, 'bytes' | 'sha256'>;
  readonly #asked: Asked;
  readonly #hash = createHash('sha256');
  #position = 0;

  constructor(stream: ObjectStream, file: Pick<TransferFileRow, 'bytes' | 'sha256'>, asked: Asked) {
    this.#stream = stream;
    this.#file = file;
    this.#asked = asked;
  }

  /** @throws {Error} if the object is not what was stored; {TransferStoreUnavailable} */
  async read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }> {
    if (position !== this.#position) throw new RangeError('an object is read in order');
    const piece = await this.#next(length);
    buffer.set(piece, offset);
    return { bytesRead: piece.length };
  }

  /** Writes all of it to an empty file. Throws the same errors as `read`, and those of the disk. */
  async copyTo(handle: FileHandle): Promise<void> {
    while (this.#position < this.#file.bytes) await handle.writeFile(await this.#next(copiedAtOnceBytes));
  }

  async close(): Promise<void> {
    this.#stream.close();
    return Promise.resolve();
  }

  async #next(maxBytes: number): Promise<Buffer> {
    const piece = await this.#asked(this.#stream.next(maxBytes));
    // Behind the end, where the digest has been taken.
    if (piece.length === 0) return piece;
    this.#position += piece.length;
    this.#hash.update(piece);
    const { bytes, sha256 } = this.#file;
    if (this.#position === bytes && sha256 !== null && this.#hash.digest('hex') !== sha256)
      throw new Error('a file in the object store has other content than was stored');
    return piece;
  }
}
