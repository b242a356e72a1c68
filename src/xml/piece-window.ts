const carriedBytes = 65_536;

/**
 * The part of a document that is being read. A document consists of pieces; the window is one of
 * them, or a copy of the bytes around the end of one.
 */
export class PieceWindow {
  readonly #pieces: readonly Buffer[];
  /** Offsets of the pieces in the document. */
  readonly #starts: readonly number[];
  readonly #length: number;
  #index = 0;
  bytes: Buffer = Buffer.alloc(0);
  /** Offset of the window in the document. */
  base = 0;

  constructor(pieces: readonly Uint8Array[]) {
    this.#pieces = pieces.map(({ buffer, byteOffset, length }) => Buffer.from(buffer, byteOffset, length));
    const starts: number[] = [];
    let length = 0;
    for (const piece of pieces) {
      starts.push(length);
      length += piece.length;
    }
    this.#starts = starts;
    this.#length = length;
  }

  /**
   * Moves the window so that it has more bytes behind `position`, and drops those before it.
   * Returns the position in the new window; undefined if nothing follows. If bytes are kept, it at
   * least doubles them: a reader may start again at `position` each time, and still takes linear
   * time.
   */
  advance(position: number): number | undefined {
    const from = this.base + position;
    const limit = this.base + this.bytes.length;
    if (limit >= this.#length) return undefined;
    while (this.#endOf(this.#index) <= from) this.#index += 1;
    const piece = this.#pieces[this.#index];
    const start = this.#starts[this.#index];
    if (piece !== undefined && start !== undefined && start + piece.length > limit) {
      this.bytes = piece;
      this.base = start;
      return from - start;
    }
    this.bytes = this.#copy(from, Math.min(this.#length - from, Math.max(carriedBytes, 2 * (limit - from))));
    this.base = from;
    return 0;
  }

  #copy(from: number, length: number): Buffer {
    const copy = Buffer.allocUnsafe(length);
    for (let index = this.#index, filled = 0; filled < length; index += 1) {
      const piece = this.#pieces[index];
      if (piece === undefined) throw new RangeError('the pieces are shorter than their sum');
      filled += piece.copy(copy, filled, Math.max(0, from - (this.#starts[index] ?? 0)));
    }
    return copy;
  }

  #endOf(index: number): number {
    return (this.#starts[index] ?? this.#length) + (this.#pieces[index]?.length ?? 1);
  }
}
