import { objectIdentifierText } from './object-identifier.ts';

/**
 * Thrown for bytes that are not the expected DER (X.690). `offset` counts from the start of the
 * buffer.
 */
export class DerError extends Error {
  readonly offset: number;

  constructor(message: string, offset: number) {
    super(`${message} (at offset ${offset})`);
    this.name = 'DerError';
    this.offset = offset;
  }
}

/** One element of a buffer. The slices share the buffer's memory. */
export interface DerElement {
  /** The identifier octet: class, constructed bit, and a tag number below 31. */
  readonly tag: number;
  readonly constructed: boolean;
  readonly start: number;
  readonly contentStart: number;
  readonly end: number;
  readonly content: Uint8Array;
  /** Identifier, length and content octets. */
  readonly raw: Uint8Array;
}

/**
 * Reads the element that starts at `offset`; only its header is parsed.
 * @throws {DerError} for an indefinite length (X.690 10.1), a length not in the fewest octets, a
 * tag number above 30, and an end beyond the buffer
 */
export function readElement(bytes: Uint8Array, offset = 0): DerElement {
  const tag = octetAt(bytes, offset);
  if ((tag & 0x1f) === 0x1f) throw new DerError('tag numbers above 30 are not supported', offset);
  if (tag === 0) throw new DerError('end-of-contents octets do not occur in DER', offset);
  const { length, contentStart } = readLength(bytes, offset + 1);
  const end = contentStart + length;
  if (end > bytes.length) throw new DerError(`the element ends ${end - bytes.length} octets beyond the enclosing one`, offset);
  return {
    tag,
    constructed: (tag & 0x20) !== 0,
    start: offset,
    contentStart,
    end,
    content: bytes.subarray(contentStart, end),
    raw: bytes.subarray(offset, end),
  };
}

function octetAt(bytes: Uint8Array, offset: number): number {
  const octet = bytes[offset];
  if (octet === undefined) throw new DerError('truncated element', offset);
  return octet;
}

function readLength(bytes: Uint8Array, offset: number): { length: number; contentStart: number } {
  const first = octetAt(bytes, offset);
  if (first < 0x80) return { length: first, contentStart: offset + 1 };
  const count = first & 0x7f;
  if (count === 0) throw new DerError('indefinite length', offset);
  if (count > 4) throw new DerError('length of more than four octets', offset);
  let length = 0;
  for (let at = offset + 1; at <= offset + count; at += 1) length = length * 256 + octetAt(bytes, at);
  if (length < 0x80 || octetAt(bytes, offset + 1) === 0) throw new DerError('length not in the fewest octets', offset);
  return { length, contentStart: offset + 1 + count };
}

/** Reads a buffer that holds exactly one element. @throws {DerError} for trailing data */
export function readAll(bytes: Uint8Array): DerElement {
  const element = readElement(bytes);
  if (element.end !== bytes.length) throw new DerError('trailing data after the element', element.end);
  return element;
}

/**
 * Returns the elements inside a constructed one; their offsets count from the start of its content.
 */
export function children(element: DerElement): DerElement[] {
  if (!element.constructed) throw new DerError('primitive element instead of a constructed one', element.start);
  const parts: DerElement[] = [];
  for (let offset = 0; offset < element.content.length;) {
    const part = readElement(element.content, offset);
    parts.push(part);
    offset = part.end;
  }
  return parts;
}

/**
 * Returns the dotted text of an OBJECT IDENTIFIER (X.690 8.19).
 * @throws {DerError} for another tag or malformed arcs
 */
export function readObjectIdentifier(element: DerElement): string {
  const text = element.tag === 0x06 ? objectIdentifierText(element.content) : undefined;
  if (text === undefined) throw new DerError('not an OBJECT IDENTIFIER', element.start);
  return text;
}
