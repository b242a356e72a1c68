/** The octets of all parts, one after the other. */
export function concat(...parts: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(parts.reduce((total, part) => total + part.length, 0));
  let offset = 0;
  for (const part of parts) {
    joined.set(part, offset);
    offset += part.length;
  }
  return joined;
}

/** X.690 8.1.3 with the least number of length octets (10.1). */
export function lengthOctets(length: number): Uint8Array {
  if (length < 0x80) return Uint8Array.of(length);
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) octets.unshift(rest % 256);
  return Uint8Array.of(0x80 | octets.length, ...octets);
}

/** One element with the identifier octet as given (class, constructed bit and a tag number below 31), its content in one part or several. */
export function tagged(tagByte: number, ...content: readonly Uint8Array[]): Uint8Array {
  const length = content.reduce((total, part) => total + part.length, 0);
  return concat(Uint8Array.of(tagByte), lengthOctets(length), ...content);
}
