import type { ObjectCipher } from './encryption/security-handler.ts';
import { isArray, PdfDictionary, PdfHole, PdfName, PdfReference, PdfStream, PdfString, type PdfObject } from './objects.ts';

/** Writes an object piece by piece: text, where each character is a byte, and holes. */
export function writeObject(object: PdfObject, strings: ObjectCipher | undefined, write: (piece: string | PdfHole) => void): void {
  if (object === null || typeof object === 'boolean') write(String(object));
  else if (typeof object === 'number') write(numberText(object));
  else if (object instanceof PdfName) write(nameText(object.text));
  else if (object instanceof PdfString) write(stringText(strings === undefined ? object.bytes : strings.encrypt(object.bytes)));
  else if (object instanceof PdfReference) write(object.toString());
  else if (object instanceof PdfHole) write(object);
  else if (object instanceof PdfStream) throw new Error('a stream is an indirect object');
  else if (isArray(object)) writeArray(object, strings, write);
  else if (object instanceof PdfDictionary) writeDictionary(object, strings, write);
}

/** Returns an object without holes as text, where each character is a byte. */
export function objectText(object: PdfObject): string {
  let text = '';
  writeObject(object, undefined, (piece) => {
    text += typeof piece === 'string' ? piece : piece.filler;
  });
  return text;
}

function writeArray(elements: readonly PdfObject[], strings: ObjectCipher | undefined, write: (piece: string | PdfHole) => void): void {
  write('[');
  for (const [index, element] of elements.entries()) {
    if (index > 0) write(' ');
    writeObject(element, strings, write);
  }
  write(']');
}

function writeDictionary(dictionary: PdfDictionary, strings: ObjectCipher | undefined, write: (piece: string | PdfHole) => void): void {
  write('<<');
  for (const [key, value] of dictionary.entries()) {
    write(`${nameText(key)} `);
    writeObject(value, strings, write);
    if (dictionary.pointed.has(key)) write('.0');
  }
  write('>>');
}

/** Numbers have no exponents (ISO 32000-2, 7.3.3). */
function numberText(value: number): string {
  if (!Number.isFinite(value)) throw new Error('a PDF has no infinite numbers');
  const text = String(value);
  if (!text.includes('e')) return text;
  return Number.isInteger(value) ? String(BigInt(value)) : value.toFixed(10).replace(/\.?0+$/, '');
}

function nameText(text: string): string {
  const escaped = text.replaceAll(/[^!-~]|[#()<>[\]{}/%]/g, (character) => `#${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
  return `/${escaped}`;
}

function stringText(bytes: Uint8Array): string {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  if (/^[ -~]*$/.test(text)) return `(${text.replaceAll(/[\\()]/g, String.raw`\$&`)})`;
  return `<${Buffer.from(text, 'latin1').toString('hex')}>`;
}
