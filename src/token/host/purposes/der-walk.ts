/**
 * The message is not one that the key signs, or not in DER. Its text gives the reason and quotes
 * nothing of the message.
 */
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
 * Checks that the bytes are one DER element with everything inside it, at most 24 levels deep
 * (X.690 §8, §10, §11): definite lengths in the fewest octets, nothing after it, no tag number
 * above 30, primitive or constructed as the type requires, and BOOLEAN, INTEGER, BIT STRING, NULL
 * and OBJECT IDENTIFIER in their only valid form. One loop without allocations: the host runs
 * without JIT, and a CRL may have a million elements.
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
    if ((tag & 0x1f) === 0x1f || tag === 0) throw new NotFit('unsupported tag');
    if (length >= 0x80) {
      const octets = length & 0x7f;
      if (octets === 0 || octets > 4 || octets > end - at) throw new NotFit('unsupported length');
      const first = bytes[at] ?? 0;
      length = 0;
      for (let count = 0; count < octets; count += 1) length = length * 256 + (bytes[at + count] ?? 0);
      if (first === 0 || length < 0x80) throw new NotFit('a length has more octets than it needs');
      at += octets;
    }
    if (length > end - at) throw new NotFit('an element exceeds the one that contains it');
    // Most elements are of types whose content has no form to check.
    if (tag < 0x40 && tag !== tags.sequence && tag !== tags.octetString && tag !== tags.utcTime) checkUniversal(bytes, tag, at, length);
    if ((tag & 0x20) === 0) {
      at += length;
    } else {
      if (ends.length === maxDepth) throw new NotFit('nested too deeply');
      ends.push(end);
      end = at + length;
    }
    while (at === end && ends.length > 0) end = ends.pop() ?? 0;
    // Bytes left on the outermost level follow the element.
    if (ends.length === 0 && at !== end) throw new NotFit('something follows the element');
  } while (at < end);
}

/** Checks the universal types for whose content X.690 prescribes a form. */
function checkUniversal(bytes: Uint8Array, tag: number, at: number, length: number): void {
  const number = tag & 0x1f;
  // EXTERNAL, SEQUENCE and SET are constructed, all others primitive (§10.2: strings too).
  if (((tag & 0x20) !== 0) !== (number === 0x10 || number === 0x11 || number === 0x08))
    throw new NotFit('primitive where constructed is required, or the reverse');
  const first = bytes[at] ?? 0;
  switch (tag) {
    case tags.boolean:
      if (length !== 1 || (first !== 0 && first !== 0xff)) throw new NotFit('a BOOLEAN is neither TRUE nor FALSE');
      return;
    case tags.integer:
    case tags.enumerated: {
      const second = bytes[at + 1] ?? 0;
      if (length === 0 || (length > 1 && (first === 0 ? second < 0x80 : first === 0xff && second >= 0x80)))
        throw new NotFit('a number has more octets than it needs');
      return;
    }
    case tags.bitString: {
      const unused = length > 1 ? (1 << first) - 1 : 0;
      if (length === 0 || first > 7 || (length === 1 && first > 0) || ((bytes[at + length - 1] ?? 0) & unused & 0xff) !== 0)
        throw new NotFit('unused bits of a BIT STRING are not zero');
      return;
    }
    case tags.nullValue:
      if (length !== 0) throw new NotFit('a NULL has content');
      return;
    case tags.objectIdentifier:
      checkObjectIdentifier(bytes, at, length);
      return;
    default:
  }
}

function checkObjectIdentifier(bytes: Uint8Array, at: number, length: number): void {
  if (length > maxObjectIdentifierBytes) throw new NotFit('an object identifier is too long');
  let begins = true;
  for (let offset = at; offset < at + length; offset += 1) {
    const octet = bytes[offset] ?? 0;
    if (begins && octet === 0x80) throw new NotFit('an object identifier has more octets than it needs');
    begins = octet < 0x80;
  }
  if (length === 0 || !begins) throw new NotFit('an object identifier is cut short');
}

/**
 * Reads the elements of a constructed one in sequence. The bytes must have passed `checkDer`, so
 * that every length is valid.
 */
export class DerWalk {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  #at: number;

  constructor(bytes: Uint8Array, start = 0, end = bytes.length) {
    this.#bytes = bytes;
    this.#at = start;
    this.#end = end;
  }

  /** Tag of the next element; undefined at the end. */
  get tag(): number | undefined {
    return this.#at < this.#end ? this.#bytes[this.#at] : undefined;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#end;
  }

  /** Returns the content octets of the next element, which must have this tag. @throws {NotFit} */
  content(tag: number, name: string): Uint8Array {
    const start = this.#enter(tag, name);
    return this.#bytes.subarray(start, this.#at);
  }

  /**
   * Returns a walk over the elements inside the next one, which must have this tag.
   * @throws {NotFit}
   */
  inside(tag: number, name: string): DerWalk {
    const start = this.#enter(tag, name);
    return new DerWalk(this.#bytes, start, this.#at);
  }

  /** Skips the next element, which must have this tag. @throws {NotFit} */
  skip(tag: number, name: string): void {
    this.#enter(tag, name);
  }

  /** The whole next element, without advancing; empty at the end. */
  get raw(): Uint8Array {
    const start = this.#at;
    const { tag } = this;
    if (tag === undefined) return new Uint8Array();
    this.#enter(tag, 'an element');
    const raw = this.#bytes.subarray(start, this.#at);
    this.#at = start;
    return raw;
  }

  /** @throws {NotFit} if any elements are left */
  end(name: string): void {
    if (!this.isAtEnd) throw new NotFit(`${name} has extra elements`);
  }

  /** Returns the start of the content; the walk is then after the element. */
  #enter(tag: number, name: string): number {
    if (this.tag !== tag) throw new NotFit(`${name} is missing`);
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

/**
 * Returns content octets in hexadecimal, the form in which object identifiers are compared here.
 */
export function hexOf(content: Uint8Array): string {
  return Buffer.from(content.buffer, content.byteOffset, content.length).toString('hex');
}
