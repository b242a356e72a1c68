/** Bytes with random access, in memory or in a larger medium such as a file. */
export interface ByteSource {
  readonly bytes: number;
  /**
   * Returns the bytes available from an offset on, at least one. They are not modified afterwards.
   */
  windowAt(offset: number): Uint8Array;
}

export function bytesInMemory(bytes: Uint8Array): ByteSource {
  return { bytes: bytes.length, windowAt: (offset) => bytes.subarray(offset) };
}

/** Returns the first bytes of a source as one of its own. */
export function firstBytes(source: ByteSource, bytes: number): ByteSource {
  return { bytes, windowAt: (offset) => source.windowAt(offset).subarray(0, bytes - offset) };
}

/** Returns a copy of the bytes between two offsets. */
export function bytesBetween(source: ByteSource, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start);
  let at = 0;
  for (const part of windowsBetween(source, start, end)) {
    copy.set(part, at);
    at += part.length;
  }
  return copy;
}

/** Yields the bytes between two offsets, in parts. */
export function* windowsBetween(source: ByteSource, start: number, end: number): Generator<Uint8Array, void> {
  for (let offset = start; offset < end;) {
    const part = source.windowAt(offset).subarray(0, end - offset);
    yield part;
    offset += part.length;
  }
}
