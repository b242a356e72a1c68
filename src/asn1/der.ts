import { objectIdentifierContent } from './object-identifier.ts';

/**
 * Encodes DER (ITU-T X.690). Every function returns one complete encoding, and larger ones are
 * composed of smaller ones. String values are never parsed, so a value can never become structure.
 */

const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  nullValue: 0x05,
  objectIdentifier: 0x06,
  sequence: 0x30,
  set: 0x31,
} as const;

export function sequence(...parts: readonly Uint8Array[]): Uint8Array {
  return tagged(tags.sequence, ...parts);
}

/**
 * A SET with its parts in the given order: for one part, or parts that the caller has sorted by tag
 * (X.690 10.3).
 */
export function set(...parts: readonly Uint8Array[]): Uint8Array {
  return tagged(tags.set, ...parts);
}

/** A SET OF, with the parts sorted by their encodings (X.690 11.6). */
export function setOf(parts: readonly Uint8Array[]): Uint8Array {
  return set(...parts.toSorted((a, b) => Buffer.compare(a, b)));
}

/** `[tagNumber] EXPLICIT`: a context-specific wrapper around one complete element. */
export function explicit(tagNumber: number, inner: Uint8Array): Uint8Array {
  return tagged(0xa0 | contextTag(tagNumber), inner);
}

/**
 * `[tagNumber] IMPLICIT` of a constructed type: `content` is the content of the element whose tag
 * is replaced.
 */
export function implicitConstructed(tagNumber: number, content: Uint8Array): Uint8Array {
  return tagged(0xa0 | contextTag(tagNumber), content);
}

/** `[tagNumber] IMPLICIT` of a primitive type. */
export function implicitPrimitive(tagNumber: number, content: Uint8Array): Uint8Array {
  return tagged(0x80 | contextTag(tagNumber), content);
}

function contextTag(tagNumber: number): number {
  if (!Number.isInteger(tagNumber) || tagNumber < 0 || tagNumber > 30) throw new RangeError(`tag number ${tagNumber} is not in 0..30`);
  return tagNumber;
}

export function boolean(value: boolean): Uint8Array {
  return tagged(tags.boolean, Uint8Array.of(value ? 0xff : 0x00));
}

export function nullValue(): Uint8Array {
  return tagged(tags.nullValue, new Uint8Array());
}

/** An INTEGER in the fewest octets (X.690 8.3.2). Bytes are an unsigned big-endian number. */
export function integer(value: number | bigint | Uint8Array): Uint8Array {
  if (value instanceof Uint8Array) return tagged(tags.integer, unsignedContent(value));
  if (typeof value === 'number' && !Number.isSafeInteger(value)) throw new RangeError(`${value} is not a safe integer`);
  return tagged(tags.integer, signedContent(BigInt(value)));
}

function unsignedContent(bytes: Uint8Array): Uint8Array {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const magnitude = bytes.subarray(start);
  const first = magnitude[0];
  if (first === undefined) return Uint8Array.of(0);
  return first >= 0x80 ? concat(Uint8Array.of(0), magnitude) : magnitude;
}

function signedContent(value: bigint): Uint8Array {
  // One extra bit for the sign.
  const bits = (value < 0n ? -value - 1n : value).toString(2).length + 1;
  const octets = Math.ceil(bits / 8);
  const hex = BigInt.asUintN(octets * 8, value)
    .toString(16)
    .padStart(octets * 2, '0');
  return Buffer.from(hex, 'hex');
}

/** Encodes dotted text such as `2.5.4.3`. @throws {RangeError} for an invalid object identifier */
export function oid(text: string): Uint8Array {
  return tagged(tags.objectIdentifier, objectIdentifierContent(text));
}

export function octetString(bytes: Uint8Array): Uint8Array {
  return tagged(tags.octetString, bytes);
}

/** `unusedBits` of the last octet are not part of the value and must be zero (X.690 11.2.1). */
export function bitString(bytes: Uint8Array, unusedBits = 0): Uint8Array {
  if (!Number.isInteger(unusedBits) || unusedBits < 0 || unusedBits > 7) throw new RangeError(`${unusedBits} unused bits`);
  const last = bytes.at(-1) ?? 0;
  if ((bytes.length === 0 && unusedBits > 0) || (last & ((1 << unusedBits) - 1)) !== 0) {
    throw new RangeError('the unused bits of a BIT STRING must exist and be zero');
  }
  return tagged(tags.bitString, concat(Uint8Array.of(unusedBits), bytes));
}

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

/**
 * Returns a UTCTime for the years 1950 to 2049, a GeneralizedTime otherwise (RFC 5280 4.1.2.5); in
 * whole seconds, UTC.
 */
export function time(date: Date): Uint8Array {
  const year = date.getUTCFullYear();
  if (year < 1950 || year > 2049) return generalizedTime(date);
  return tagged(0x17, Buffer.from(timeDigits(date).slice(2), 'latin1'));
}

/**
 * Returns a GeneralizedTime without fractions of a second.
 * @throws {RangeError} for a date outside the years 0 to 9999
 */
export function generalizedTime(date: Date): Uint8Array {
  return tagged(0x18, Buffer.from(timeDigits(date), 'latin1'));
}

/** Returns `YYYYMMDDHHMMSSZ`; fractions are truncated, never rounded up into the future. */
function timeDigits(date: Date): string {
  const text = date.toISOString();
  if (text.length !== 24) throw new RangeError('the year of a time must have four digits');
  return `${text.slice(0, 19).replaceAll(/[-:T]/g, '')}Z`;
}
