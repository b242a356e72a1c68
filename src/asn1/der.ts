/**
 * Encodes DER (ITU-T X.690). Every function returns one complete encoding, and larger ones are
 * composed of smaller ones. String values are never parsed, so a value can never become structure.
 */

import { objectIdentifierContent } from './object-identifier.ts';
import { concat, tagged } from './tag-length-value.ts';

export { concat, tagged };
export { ia5String, numericString, printableString, utf8String } from './character-strings.ts';
export { generalizedTime, time } from './times.ts';

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
