/**
 * Returns where the parenthesis is that ends a literal string (ISO 32000-2, 7.3.4.2); undefined if
 * there is none.
 */
export function literalEnd(bytes: Uint8Array, start: number): number | undefined {
  let open = 0;
  for (let at = start; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === 0x5c) at += 1;
    else if (byte === 0x28) open += 1;
    else if (byte === 0x29) {
      open -= 1;
      if (open === 0) return at;
    }
  }
  return undefined;
}

/**
 * Returns the bytes that a literal string stands for. `start`, `end`: of what is within its
 * parentheses.
 */
export function literalBytes(bytes: Uint8Array, start: number, end: number): Uint8Array {
  // Escapes make it shorter only.
  const value = Buffer.allocUnsafe(end - start);
  let length = 0;
  for (let at = start; at < end; at += 1) {
    let byte = bytes[at] ?? 0;
    if (byte === 0x5c) {
      at += 1;
      byte = bytes[at] ?? 0;
      if (isOctal(byte)) {
        const from = at;
        for (byte = 0; at < from + 3 && isOctal(bytes[at]); at += 1) byte = (byte * 8 + (bytes[at] ?? 0) - 0x30) & 0xff;
        at -= 1;
      } else if (byte === 0x0d || byte === 0x0a) {
        // The line goes on in the next one.
        if (byte === 0x0d && bytes[at + 1] === 0x0a) at += 1;
        continue;
      } else {
        byte = escapes.get(byte) ?? byte;
      }
    } else if (byte === 0x0d) {
      // An end of line is a line feed, however it is written.
      byte = 0x0a;
      if (bytes[at + 1] === 0x0a) at += 1;
    }
    value[length] = byte;
    length += 1;
  }
  return value.subarray(0, length);
}

function isOctal(digit: number | undefined): boolean {
  return digit !== undefined && digit >= 0x30 && digit <= 0x37;
}

/** Characters behind a backslash that stand for another one (table 3). */
const escapes = new Map(
  Object.entries({ n: 0x0a, r: 0x0d, t: 0x09, b: 0x08, f: 0x0c }).map(([letter, byte]) => [letter.charCodeAt(0), byte] as const),
);
