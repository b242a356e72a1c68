/** Size of the first chunk: most documents are small. */
const firstBytes = 2048;
const chunkMaxBytes = 65_536;
/** Above this length a native copy is faster than a loop. */
const loopBytesMax = 128;

/** Collects bytes and hands them on in chunks, which are valid only during the call. */
export class ChunkWriter {
  readonly #write: (bytes: Uint8Array) => void;
  #chunk = Buffer.allocUnsafe(firstBytes);
  #used = 0;

  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  byte(byte: number): void {
    if (this.#used === this.#chunk.length) this.flush();
    this.#chunk[this.#used] = byte;
    this.#used += 1;
  }

  bytes(bytes: Uint8Array): void {
    this.copy(bytes, 0, bytes.length);
  }

  copy(bytes: Uint8Array, start: number, end: number): void {
    if (end - start <= loopBytesMax && end - start <= this.#chunk.length - this.#used) {
      const chunk = this.#chunk;
      let used = this.#used;
      for (let at = start; at < end; at += 1, used += 1) chunk[used] = bytes[at] ?? 0;
      this.#used = used;
      return;
    }
    for (let at = start; at < end;) {
      if (this.#used === this.#chunk.length) this.flush();
      const length = Math.min(end - at, this.#chunk.length - this.#used);
      this.#chunk.set(bytes.subarray(at, at + length), this.#used);
      this.#used += length;
      at += length;
    }
  }

  flush(): void {
    if (this.#used > 0) this.#write(this.#chunk.subarray(0, this.#used));
    if (this.#used === this.#chunk.length && this.#used < chunkMaxBytes) this.#chunk = Buffer.allocUnsafe(chunkMaxBytes);
    this.#used = 0;
  }
}
