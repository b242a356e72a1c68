import type { IncomingMessage } from 'node:http';
import { S3Failed } from './s3-failed.ts';

interface StreamParts {
  /** Size of the object. */
  readonly bytes: number;
  /** Time without progress after which the connection counts as broken. */
  readonly timeoutMs: number;
  /** Requests the object again, from a byte on; undefined if there is none. */
  from(start: number): Promise<IncomingMessage | undefined>;
}

/**
 * An object that is read in order, as fast as the reader wants. A broken connection is replaced by
 * one that goes on from where it broke, unless the new one makes no progress either.
 */
export class ObjectStream {
  readonly #parts: StreamParts;
  #response: IncomingMessage;
  #pieces: AsyncIterator<Buffer, undefined>;
  #rest: Buffer = Buffer.alloc(0);
  #position = 0;
  #isAgain = false;

  constructor(response: IncomingMessage, parts: StreamParts) {
    this.#parts = parts;
    this.#response = response;
    this.#pieces = piecesOf(response);
  }

  /**
   * Returns the next bytes, at most `maxBytes`; none at the end.
   * @throws {S3Failed}
   */
  async next(maxBytes: number): Promise<Buffer> {
    while (this.#rest.length === 0 && this.#position < this.#parts.bytes) await this.#receive();
    const piece = this.#rest.subarray(0, maxBytes);
    this.#rest = this.#rest.subarray(piece.length);
    return piece;
  }

  /** Ends the request. */
  close(): void {
    // Of an answer that was read whole, the connection stays open for the next request.
    if (!this.#response.complete) this.#response.destroy();
  }

  async #receive(): Promise<void> {
    try {
      const piece = await this.#inTime(this.#pieces.next());
      if (piece.done === true) throw new S3Failed('unavailable', 'the object store sent less than it announced');
      this.#rest = piece.value;
      this.#position += piece.value.length;
      this.#isAgain = false;
      // Reads the end of the answer, which frees the connection.
      if (this.#position === this.#parts.bytes) await this.#inTime(this.#pieces.next());
    } catch (error) {
      if (this.#position === this.#parts.bytes) return;
      if (this.#isAgain) throw error;
      this.#response.destroy();
      const response = await this.#parts.from(this.#position);
      if (response === undefined) throw new S3Failed('refused', 'an object was deleted while it was read', error);
      this.#response = response;
      this.#pieces = piecesOf(response);
      this.#isAgain = true;
    }
  }

  async #inTime<T>(work: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>();
    const { timeoutMs } = this.#parts;
    const timer = setTimeout(() => {
      reject(new S3Failed('unavailable', `the object store sent nothing for ${timeoutMs / 1000} s`));
    }, timeoutMs);
    work.catch(() => undefined);
    try {
      return await Promise.race([work, promise]);
    } catch (error) {
      throw error instanceof S3Failed ? error : new S3Failed('unavailable', 'the connection to the object store broke', error);
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Node's HTTP parser passes bytes if no encoding is set. */
function piecesOf(response: IncomingMessage): AsyncIterator<Buffer, undefined> {
  return response[Symbol.asyncIterator]() as AsyncIterator<Buffer, undefined>;
}
