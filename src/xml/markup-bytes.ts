/** Thrown where a document is not well formed; `offset` is one of the window that is being read. */
export class Malformed extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(message);
    this.offset = offset;
  }
}

/**
 * 1 for each byte of a character that a name may have, also behind its start. Above ASCII, all
 * bytes count.
 */
export const nameBytes = new Uint8Array(256);
/** 1 for each byte that may start a name. */
export const nameStartBytes = new Uint8Array(256);
for (let byte = 0; byte < 256; byte += 1) {
  const isStart = byte >= 0x80 || /[A-Za-z_:]/.test(String.fromCharCode(byte));
  nameStartBytes[byte] = isStart ? 1 : 0;
  nameBytes[byte] = isStart || /[0-9.-]/.test(String.fromCharCode(byte)) ? 1 : 0;
}

export function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}

/** Returns the first offset from `at` on that has no white space; `end` if there is none. */
export function afterSpace(bytes: Uint8Array, at: number, end: number): number {
  let next = at;
  while (next < end && isSpace(bytes[next])) next += 1;
  return next;
}

/** Returns true if `expected` is what `bytes` has from `start` to `end`. */
export function hasBytes(expected: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (expected.length !== end - start) return false;
  for (let index = 0; index < expected.length; index += 1) if (expected[index] !== bytes[start + index]) return false;
  return true;
}
