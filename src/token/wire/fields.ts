/** A frame that breaks the rules of the protocol: the connection ends. */
export class WireError extends Error {}

/** Collects the fields of a frame; numbers are unsigned and big-endian, bytes carry a 32-bit length. */
export class FieldWriter {
  readonly #parts: Uint8Array[] = [];

  u8(value: number): this {
    this.#parts.push(Uint8Array.of(value));
    return this;
  }

  u32(value: number): this {
    const bytes = Buffer.allocUnsafe(4);
    bytes.writeUInt32BE(value);
    this.#parts.push(bytes);
    return this;
  }

  bytes(value: Uint8Array): this {
    this.u32(value.length);
    this.#parts.push(value);
    return this;
  }

  list(values: readonly Uint8Array[]): this {
    this.u32(values.length);
    for (const value of values) this.bytes(value);
    return this;
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/** Reads what FieldWriter wrote. @throws {WireError} where the bytes end early or go on. */
export class FieldReader {
  readonly #bytes: Buffer;
  #offset = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  u8(): number {
    return this.#take(1).readUInt8();
  }

  u32(): number {
    return this.#take(4).readUInt32BE();
  }

  bytes(): Buffer {
    return this.#take(this.u32());
  }

  list(): Buffer[] {
    const count = this.u32();
    if (count > this.#bytes.length) throw new WireError('a list longer than its frame');
    return Array.from({ length: count }, () => this.bytes());
  }

  end(): void {
    if (this.#offset !== this.#bytes.length) throw new WireError('bytes after the last field');
  }

  #take(length: number): Buffer {
    if (length > this.#bytes.length - this.#offset) throw new WireError('the frame ends early');
    const part = this.#bytes.subarray(this.#offset, this.#offset + length);
    this.#offset += length;
    return part;
  }
}
