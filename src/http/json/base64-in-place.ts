/** A multiple of four characters, so that a slice decodes by itself. */
const sliceCharacters = 1024 * 1024;
const alphabet = /^[A-Za-z0-9+/]*$/;
const lastGroup = /^[A-Za-z0-9+/]{2}(?:[A-Za-z0-9+/]{2}|[A-Za-z0-9+/]=|==)$/;

/**
 * Whether the characters are canonical base64 (RFC 4648 §4): padded, without other characters,
 * without stray bits.
 */
export function isBase64(text: Buffer): boolean {
  if (text.length % 4 !== 0) return false;
  if (text.length === 0) return true;
  const last = text.toString('latin1', text.length - 4);
  if (!lastGroup.test(last) || Buffer.from(last, 'base64').toString('base64') !== last) return false;
  for (let offset = 0; offset < text.length - 4; offset += sliceCharacters) {
    if (!alphabet.test(text.toString('latin1', offset, Math.min(text.length - 4, offset + sliceCharacters)))) return false;
  }
  return true;
}

/** Replaces base64 by the bytes that it stands for, from the start on. Returns their number. */
export function decodeInPlace(text: Buffer): number {
  let written = 0;
  for (let offset = 0; offset < text.length; offset += sliceCharacters) {
    const slice = text.toString('latin1', offset, Math.min(text.length, offset + sliceCharacters));
    written += text.write(slice, written, 'base64');
  }
  return written;
}
