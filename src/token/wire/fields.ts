/** A frame that violates the protocol: the connection is closed. */
export class WireError extends Error {}

/**
 * Collects the fields of a frame; numbers are unsigned and big-endian, bytes carry a 32-bit length.
 */
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

  finish(): Buffer {
    return Buffer.concat(this.#parts);
  }
}

/**
 * Encodes a list of byte strings: `before`, their number, then each with its length. It allocates
 * once, since nearly all of the host's answers are such lists.
 */
export function writeList(values: readonly Uint8Array[], before: readonly number[] = []): Buffer {
  const length = values.reduce((sum, value) => sum + 4 + value.length, before.length + 4);
  const bytes = Buffer.allocUnsafe(length);
  bytes.set(before);
  let offset = bytes.writeUInt32BE(values.length, before.length);
  for (const value of values) {
    offset = bytes.writeUInt32BE(value.length, offset);
    bytes.set(value, offset);
    offset += value.length;
  }
  return bytes;
}

/**
 * Reads fields written by FieldWriter.
 * @throws {WireError} if there are too few or too many bytes
 */
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
    if (count > this.#bytes.length) throw new WireError('a list is longer than its frame');
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
