import { tagged } from './tag-length-value.ts';

/** @throws {RangeError} for a lone surrogate, which UTF-8 cannot encode. */
export function utf8String(text: string): Uint8Array {
  if (!text.isWellFormed()) throw new RangeError('a lone surrogate has no UTF-8 encoding');
  return tagged(0x0c, Buffer.from(text, 'utf8'));
}

/** @throws {RangeError} for a character that PrintableString does not allow (X.680 41.4). */
export function printableString(text: string): Uint8Array {
  return restrictedString(0x13, /^[A-Za-z0-9 '()+,\-./:=?]*$/, text);
}

/** @throws {RangeError} for a character that is not ASCII. */
export function ia5String(text: string): Uint8Array {
  return restrictedString(0x16, /^\p{ASCII}*$/u, text);
}

/** @throws {RangeError} for a character that is neither a digit nor a space. */
export function numericString(text: string): Uint8Array {
  return restrictedString(0x12, /^[0-9 ]*$/, text);
}

function restrictedString(tagByte: number, alphabet: RegExp, text: string): Uint8Array {
  if (!alphabet.test(text)) throw new RangeError('the string type does not allow a character of the text');
  return tagged(tagByte, Buffer.from(text, 'latin1'));
}
