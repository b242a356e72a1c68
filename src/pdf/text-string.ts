import { PdfString, type PdfObject } from './objects.ts';

/**
 * Characters of PDFDocEncoding that are not those of Latin-1 (ISO 32000-2, annex D.3): from 0x18
 * on, and from 0x80 on.
 */
const lowCharacters = '˘ˇˆ˙˝˛˚˜';
const highCharacters = '•†‡…—–ƒ⁄‹›−‰„“”‘’‚™\ufb01\ufb02ŁŒŠŸŽıłœšž\ufffd€';

// Control characters are what these bytes stand for elsewhere.
const otherCharacters = new RegExp(String.raw`[\x18-\x1f\x80-\xa0]`, 'g');

/** Returns the text of a text string (ISO 32000-2, 7.9.2.2); undefined for another object. */
export function textOf(object: PdfObject): string | undefined {
  if (!(object instanceof PdfString)) return undefined;
  const bytes = Buffer.from(object.bytes);
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return utf16(Buffer.from(bytes.subarray(2, bytes.length & ~1)).swap16());
  // It is not allowed, but read everywhere.
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return utf16(bytes.subarray(2, bytes.length & ~1));
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return bytes.toString('utf8', 3);
  return documentText(bytes);
}

/** Returns a text in PDFDocEncoding. */
function documentText(bytes: Buffer): string {
  return bytes.toString('latin1').replaceAll(otherCharacters, documentCharacter);
}

/** Returns a text string: in ASCII where that suffices, else in UTF-16. */
export function textString(text: string): PdfString {
  if (/^[\n\r\t -~]*$/.test(text)) return new PdfString(Buffer.from(text, 'latin1'));
  return new PdfString(Buffer.concat([Buffer.from([0xfe, 0xff]), Buffer.from(text, 'utf16le').swap16()]));
}

/**
 * Returns the bytes of a text in PDFDocEncoding (annex D.3); undefined if it has characters that
 * the encoding lacks.
 */
export function documentBytes(text: string): Uint8Array | undefined {
  const bytes = Array.from(text, (character) => documentCodes.get(character));
  return bytes.every((byte) => byte !== undefined) ? Uint8Array.from(bytes) : undefined;
}

function utf16(bytes: Buffer): string {
  // Escape characters enclose the language of the text (7.9.2.2.2); every second part is one.
  const parts = bytes.toString('utf16le').split('\u001b');
  return parts.length % 2 === 1 ? parts.filter((_, index) => index % 2 === 0).join('') : parts.join('');
}

const documentCodes: ReadonlyMap<string, number> = new Map(
  // Of two codes for one character, the first one counts.
  Array.from({ length: 256 }, (_, code) => [documentText(Buffer.of(code)), code] as const)
    .filter(([character]) => character !== '\ufffd')
    .toReversed(),
);

function documentCharacter(character: string): string {
  const byte = character.charCodeAt(0);
  return (byte < 0x80 ? lowCharacters[byte - 0x18] : highCharacters[byte - 0x80]) ?? '';
}
