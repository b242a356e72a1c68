/**
 * A multiple of four characters, so that a slice decodes by itself. The engine gives strings beyond
 * 128 KiB pages of their own, which cost ten times as much as decoding them.
 */
const sliceCharacters = 32 * 1024;
const alphabet = /^[A-Za-z0-9+/]*$/;
const lastGroup = /^[A-Za-z0-9+/]{2}(?:[A-Za-z0-9+/]{2}|[A-Za-z0-9+/]=|==)$/;
const minus = 0x2d;
const underscore = 0x5f;
const padding = 0x3d;

/**
 * Whether the characters are canonical base64 (RFC 4648 §4): padded, without other characters,
 * without stray bits.
 */
export function isBase64(text: Buffer): boolean {
  if (text.length === 0) return true;
  if (!endsAsBase64(text)) return false;
  for (let offset = 0; offset < text.length - 4; offset += sliceCharacters) {
    if (!alphabet.test(text.toString('latin1', offset, Math.min(text.length - 4, offset + sliceCharacters)))) return false;
  }
  return true;
}

/** Replaces base64 by the bytes that it stands for, from the start on. Returns their number. */
export function decodeInPlace(text: Buffer): number {
  return decodeInto(text, text);
}

/**
 * Returns the bytes that canonical base64 stands for, in memory of their own; undefined for any
 * other text. Decoding is the check: Node skips what belongs to no alphabet, so that bytes are
 * missing in the end. It takes the alphabet of RFC 4648 §5 as well, whose characters are refused
 * before.
 */
export function decodeBase64(text: Buffer): Buffer | undefined {
  if (text.length === 0) return Buffer.alloc(0);
  if (!endsAsBase64(text) || text.includes(minus) || text.includes(underscore)) return undefined;
  const paddings = Number(text.at(-1) === padding) + Number(text.at(-2) === padding);
  const bytes = Buffer.allocUnsafeSlow((text.length / 4) * 3 - paddings);
  return decodeInto(bytes, text) === bytes.length ? bytes : undefined;
}

/** Whether the length is right, and the last group of four characters. */
function endsAsBase64(text: Buffer): boolean {
  if (text.length % 4 !== 0) return false;
  const last = text.toString('latin1', text.length - 4);
  return lastGroup.test(last) && Buffer.from(last, 'base64').toString('base64') === last;
}

function decodeInto(bytes: Buffer, text: Buffer): number {
  let written = 0;
  for (let offset = 0; offset < text.length; offset += sliceCharacters) {
    written += bytes.write(text.toString('latin1', offset, Math.min(text.length, offset + sliceCharacters)), written, 'base64');
  }
  return written;
}
