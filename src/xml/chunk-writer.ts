const chunkBytes = 65_536;
/** Above this length a native copy is faster than a loop. */
const loopBytesMax = 128;

/** Collects bytes and hands them on in chunks, which are valid only during the call. */
export class ChunkWriter {
  readonly #write: (bytes: Uint8Array) => void;
  readonly #chunk = Buffer.allocUnsafe(chunkBytes);
  #used = 0;

  constructor(write: (bytes: Uint8Array) => void) {
    this.#write = write;
  }

  byte(byte: number): void {
    if (this.#used === chunkBytes) this.flush();
    this.#chunk[this.#used] = byte;
    this.#used += 1;
  }

  bytes(bytes: Uint8Array): void {
    this.copy(bytes, 0, bytes.length);
  }

  copy(bytes: Uint8Array, start: number, end: number): void {
    if (end - start <= loopBytesMax && end - start <= chunkBytes - this.#used) {
      const chunk = this.#chunk;
      let used = this.#used;
      for (let at = start; at < end; at += 1, used += 1) chunk[used] = bytes[at] ?? 0;
      this.#used = used;
      return;
    }
    for (let at = start; at < end;) {
      if (this.#used === chunkBytes) this.flush();
      const length = Math.min(end - at, chunkBytes - this.#used);
      this.#chunk.set(bytes.subarray(at, at + length), this.#used);
      this.#used += length;
      at += length;
    }
  }

  flush(): void {
    if (this.#used > 0) this.#write(this.#chunk.subarray(0, this.#used));
    this.#used = 0;
  }
}
