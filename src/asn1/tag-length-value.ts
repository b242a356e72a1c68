/** Concatenates the octets of all parts. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

/** Returns the length octets (X.690 8.1.3), as few as possible (10.1). */
export function lengthOctets(length: number): Uint8Array {
  if (length < 0x80) return Uint8Array.of(length);
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256);
  return Uint8Array.of(0x80 | octets.length, ...octets);
}

/**
 * Returns one element with the given identifier octet (class, constructed bit and a tag number
 * below 31). Its content may come in several parts.
 */
export function tagged(tagByte: number, ...content: readonly Uint8Array[]): Uint8Array {
  const length = content.reduce((total, part) => total + part.length, 0);
  return concat(Uint8Array.of(tagByte), lengthOctets(length), ...content);
}
