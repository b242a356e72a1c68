/** The message is not what the key signs, or not in DER. Its text says why, and repeats nothing of the message. */
export class NotFit extends Error {}

const maxDepth = 24;
const maxObjectIdentifierBytes = 128;
/** Tags of X.690 §8 and of the structures here. */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  nullValue: 0x05,
  objectIdentifier: 0x06,
  enumerated: 0x0a,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

/**
 * Whether the bytes are one element in DER with all that is inside of it, at most 24 levels deep (X.690 §8, §10, §11): definite lengths in the fewest
 * octets, nothing after it, no tag number above 30, primitive and constructed as the type has it, and BOOLEAN, INTEGER, BIT STRING, NULL and OBJECT
 * IDENTIFIER in their one form. One loop without objects: the host has no compiler, and a CRL has a million elements.
 * @throws {NotFit}
 */
export function checkDer(bytes: Uint8Array): void {
  const ends: number[] = [];
  let end = bytes.length;
  let at = 0;
  do {
    if (end - at < 2) throw new NotFit('an element is cut short');
    const tag = bytes[at] ?? 0;
    let length = bytes[at + 1] ?? 0;
    at += 2;
    if ((tag & 0x1f) === 0x1f || tag === 0) throw new NotFit('a tag that is not read');
    if (length >= 0x80) {
      const octets = length & 0x7f;
      if (octets === 0 || octets > 4 || octets > end - at) throw new NotFit('a length that is not read');
      const first = bytes[at] ?? 0;
      length = 0;
      for (let count = 0; count < octets; count += 1) length = length * 256 + (bytes[at + count] ?? 0);
      if (first === 0 || length < 0x80) throw new NotFit('a length in more octets than it needs');
      at += octets;
    }
    if (length > end - at) throw new NotFit('an element ends beyond its surroundings');
    // Most are of the types whose content has no form of its own.
    if (tag < 0x40 && tag !== tags.sequence && tag !== tags.octetString && tag !== tags.utcTime) checkUniversal(bytes, tag, at, length);
    if ((tag & 0x20) === 0) {
      at += length;
    } else {
      if (ends.length === maxDepth) throw new NotFit('nested too deeply');
      ends.push(end);
      end = at + length;
    }
    while (at === end && ends.length > 0) end = ends.pop() ?? 0;
    // What is left on the outermost level stands after the element.
    if (ends.length === 0 && at !== end) throw new NotFit('something follows the element');
  } while (at < end);
}

/** What X.690 demands of the universal types whose content has a form of its own. */
function checkUniversal(bytes: Uint8Array, tag: number, at: number, length: number): void {
  const number = tag & 0x1f;
  // EXTERNAL, SEQUENCE and SET are constructed, all others primitive (§10.2: strings too).
  if (((tag & 0x20) !== 0) !== (number === 0x10 || number === 0x11 || number === 0x08))
    throw new NotFit('a type in a form that DER does not have');
  const first = bytes[at] ?? 0;
  switch (tag) {
    case tags.boolean:
      if (length !== 1 || (first !== 0 && first !== 0xff)) throw new NotFit('a BOOLEAN that is neither');
      return;
    case tags.integer:
    case tags.enumerated: {
      const second = bytes[at + 1] ?? 0;
      if (length === 0 || (length > 1 && (first === 0 ? second < 0x80 : first === 0xff && second >= 0x80)))
        throw new NotFit('a number in more octets than it needs');
      return;
    }
    case tags.bitString: {
      const unused = length > 1 ? (1 << first) - 1 : 0;
      if (length === 0 || first > 7 || (length === 1 && first > 0) || ((bytes[at + length - 1] ?? 0) & unused & 0xff) !== 0)
        throw new NotFit('a BIT STRING whose unused bits are not zero');
      return;
    }
    case tags.nullValue:
      if (length !== 0) throw new NotFit('a NULL with content');
      return;
    case tags.objectIdentifier:
      checkObjectIdentifier(bytes, at, length);
      return;
    default:
  }
}

function checkObjectIdentifier(bytes: Uint8Array, at: number, length: number): void {
  if (length > maxObjectIdentifierBytes) throw new NotFit('an object identifier that is longer than any');
  let begins = true;
  for (let offset = at; offset < at + length; offset += 1) {
    const octet = bytes[offset] ?? 0;
    if (begins && octet === 0x80) throw new NotFit('an object identifier in more octets than it needs');
    begins = octet < 0x80;
  }
  if (length === 0 || !begins) throw new NotFit('an object identifier that is cut short');
}

/** Reads the elements of a constructed one, one after the other. The bytes went through `checkDer` before: every length is good. */
export class DerWalk {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** Of the next element; undefined at the end. */
  get tag(): number | undefined {
    return this.#at < this.#end ? this.#bytes[this.#at] : undefined;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  /** Content octets of the next element, which must have this tag. @throws {NotFit} */
  content(tag: number, name: string): Uint8Array {
    const start = this.#enter(tag, name);
    return this.#bytes.subarray(start, this.#at);
  }

  /** The elements inside of the next one, which must have this tag. @throws {NotFit} */
  inside(tag: number, name: string): DerWalk {
    const start = this.#enter(tag, name);
    return new DerWalk(this.#bytes, start, this.#at);
  }

  /** Goes past the next element, which must have this tag. @throws {NotFit} */
  skip(tag: number, name: string): void {
    this.#enter(tag, name);
  }

  /** The next element whole, which stays the next one; nothing at the end. */
  get raw(): Uint8Array {
    const start = this.#at;
    const { tag } = this;
    if (tag === undefined) return new Uint8Array();
    this.#enter(tag, 'an element');
    const raw = this.#bytes.subarray(start, this.#at);
    this.#at = start;
    return raw;
  }

  /** @throws {NotFit} where anything is left */
  end(name: string): void {
    if (!this.isAtEnd) throw new NotFit(`${name} has more than it may have`);
  }

  /** Answers where the content begins; the walk is behind the element then. */
  #enter(tag: number, name: string): number {
    if (this.tag !== tag) throw new NotFit(`${name} is not there`);
    let start = this.#at + 2;
    let length = this.#bytes[this.#at + 1] ?? 0;
    if (length >= 0x80) {
      const octets = length & 0x7f;
      length = 0;
      for (let count = 0; count < octets; count += 1) length = length * 256 + (this.#bytes[start + count] ?? 0);
      start += octets;
    }
    this.#at = start + length;
    return start;
  }
}

/** Content octets in hexadecimal, as object identifiers are compared here. */
export function hexOf(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.length).toString('hex');
}
