import { hasBytes, Malformed } from './markup-bytes.ts';

const entities = [
  { name: Buffer.from('&amp;'), codePoint: 0x26 },
  { name: Buffer.from('&lt;'), codePoint: 0x3c },
  { name: Buffer.from('&gt;'), codePoint: 0x3e },
  { name: Buffer.from('&quot;'), codePoint: 0x22 },
  { name: Buffer.from('&apos;'), codePoint: 0x27 },
];

/**
 * Returns the offset behind the reference that starts at `at` (XML 1.0, 4.1); `at` if it extends
 * beyond `end`.
 */
export function referenceEnd(bytes: Uint8Array, at: number, end: number): number {
  for (let next = at + 1; next < end; next += 1) {
    const byte = bytes[next] ?? 0;
    if (byte === 0x3b) return next + 1;
    if (!(byte === 0x23 || (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a)))
      throw new Malformed('a reference is malformed', at);
  }
  return at;
}

/**
 * Returns the code point that a reference stands for: one of the five predefined entities, or a
 * character.
 */
export function referredCodePoint(bytes: Uint8Array, at: number, referenceEndsAt: number): number {
  const last = referenceEndsAt - 1;
  if (bytes[at + 1] !== 0x23) {
    for (let index = 0; index < entities.length; index += 1) {
      const entity = entities[index];
      if (entity !== undefined && hasBytes(entity.name, bytes, at, referenceEndsAt)) return entity.codePoint;
    }
    throw new Malformed('an entity is not declared', at);
  }
  const radix = bytes[at + 2] === 0x78 ? 16 : 10;
  const first = radix === 16 ? at + 3 : at + 2;
  if (first === last) throw new Malformed('a character reference is empty', at);
  let codePoint = 0;
  for (let next = first; next < last; next += 1) {
    const digit = digitOf(bytes[next] ?? 0);
    if (digit >= radix) throw new Malformed('a character reference is malformed', at);
    codePoint = codePoint * radix + digit;
    if (codePoint > 0x10ffff) break;
  }
  if (!isCharacter(codePoint)) throw new Malformed('a character reference stands for no character of XML', at);
  return codePoint;
}

function digitOf(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  if (byte >= 0x61 && byte <= 0x66) return byte - 0x61 + 10;
  if (byte >= 0x41 && byte <= 0x46) return byte - 0x41 + 10;
  return Number.POSITIVE_INFINITY;
}

/** XML 1.0, production 2. */
function isCharacter(codePoint: number): boolean {
  if (codePoint < 0x20) return codePoint === 0x09 || codePoint === 0x0a || codePoint === 0x0d;
  return codePoint <= 0xd7ff || (codePoint >= 0xe000 && codePoint <= 0xfffd) || (codePoint >= 0x10000 && codePoint <= 0x10ffff);
}
