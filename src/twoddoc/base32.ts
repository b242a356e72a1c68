/** Base32 without padding (RFC 4648, 6), as values and signatures of 2D-Doc are written. */

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
const bitsPerCharacter = 5;
const bitsPerByte = 8;

export function encodeBase32(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let buffer = 0;
  for (const byte of bytes) {
    buffer = (buffer << bitsPerByte) | byte;
    bits += bitsPerByte;
    while (bits >= bitsPerCharacter) {
      bits -= bitsPerCharacter;
      text += alphabet.charAt((buffer >> bits) & 0x1f);
    }
    buffer &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + alphabet.charAt((buffer << (bitsPerCharacter - bits)) & 0x1f);
}

/**
 * Returns the bytes; undefined for text that no bytes are written as: other characters, padding, a
 * length that is not possible, or bits set behind the last byte.
 */
export function decodeBase32(text: string): Uint8Array | undefined {
  const bytes = new Uint8Array(Math.floor((text.length * bitsPerCharacter) / bitsPerByte));
  let at = 0;
  let bits = 0;
  let buffer = 0;
  for (const character of text) {
    const value = alphabet.indexOf(character);
    if (value < 0) return undefined;
    buffer = (buffer << bitsPerCharacter) | value;
    bits += bitsPerCharacter;
    if (bits < bitsPerByte) continue;
    bits -= bitsPerByte;
    bytes[at] = buffer >> bits;
    at += 1;
    buffer &= (1 << bits) - 1;
  }
  return bits >= bitsPerCharacter || buffer !== 0 ? undefined : bytes;
}
