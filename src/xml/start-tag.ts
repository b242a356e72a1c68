import { afterSpace, isSpace, Malformed, nameBytes } from './markup-bytes.ts';
import { compareAttributes, type Name, type NameTable } from './name-table.ts';
import { referenceEnd, referredCodePoint } from './reference.ts';

/** What the bytes of a value do to the fast path: 1 ends it, 2 does not occur in XML. */
const valueBytes = new Uint8Array(256);
for (let byte = 0; byte < 0x20; byte += 1) valueBytes[byte] = 2;
for (const character of '&<"\'\t\n\r') valueBytes[character.charCodeAt(0)] = 1;

const insertionSortMax = 16;

/** The last start tag that was read. Its arrays are used again for the next one. */
export class StartTag {
  readonly #names: NameTable;
  /** Undefined before the first tag. */
  name: Name | undefined;
  nameEnd = 0;
  /** Offset behind the tag. */
  end = 0;
  isEmpty = false;
  /**
   * The tag is written as Canonical XML does, if its attributes are in order; declarations may have
   * to be inserted behind the name.
   */
  isVerbatim = false;
  hasPrefixedAttributes = false;
  /** Attributes that are no declarations: their names, and the offsets of their values. */
  count = 0;
  readonly names: Name[] = [];
  readonly valueStarts: number[] = [];
  readonly valueEnds: number[] = [];
  /** The bytes between the quotes are what Canonical XML writes. */
  readonly arePlain: boolean[] = [];
  /** Indexes of the attributes in canonical order. */
  readonly order: number[] = [];
  declarations = 0;
  readonly declared: Name[] = [];
  readonly declaredStarts: number[] = [];
  readonly declaredEnds: number[] = [];
  #valueIsPlain = false;

  constructor(names: NameTable) {
    this.#names = names;
  }

  /**
   * Reads the tag that starts at `at`. Returns false if it extends beyond the window.
   * @throws {Malformed} for a tag that is not well formed
   */
  read(bytes: Buffer, at: number, end: number): boolean {
    let hash = 0;
    let next = at + 1;
    for (; next < end && nameBytes[bytes[next] ?? 0] === 1; next += 1) hash = (Math.imul(hash, 31) + (bytes[next] ?? 0)) | 0;
    if (next >= end) return false;
    if (next === at + 1) throw new Malformed('a tag has no name', at);
    this.name = this.#names.find(bytes, at + 1, next, hash);
    this.nameEnd = next;
    this.count = 0;
    this.declarations = 0;
    this.hasPrefixedAttributes = false;
    this.isEmpty = false;
    this.isVerbatim = true;
    for (;;) {
      const byte = bytes[next];
      if (byte === 0x3e) {
        this.end = next + 1;
        return true;
      }
      const nameStart = afterSpace(bytes, next, end);
      if (nameStart + 1 >= end) return false;
      if (bytes[nameStart] === 0x3e) {
        this.isVerbatim = false;
        this.end = nameStart + 1;
        return true;
      }
      if (bytes[nameStart] === 0x2f) {
        if (bytes[nameStart + 1] !== 0x3e) throw new Malformed('a tag is malformed', nameStart);
        this.isEmpty = true;
        this.isVerbatim = false;
        this.end = nameStart + 2;
        return true;
      }
      if (nameStart === next) throw new Malformed('white space is missing before an attribute', next);
      if (nameStart !== next + 1 || byte !== 0x20) this.isVerbatim = false;
      next = this.#attribute(bytes, nameStart, end);
      if (next === 0) return false;
    }
  }

  /** Reads an attribute. Returns the offset behind it, 0 if it extends beyond the window. */
  #attribute(bytes: Buffer, at: number, end: number): number {
    let hash = 0;
    let next = at;
    for (; next < end && nameBytes[bytes[next] ?? 0] === 1; next += 1) hash = (Math.imul(hash, 31) + (bytes[next] ?? 0)) | 0;
    if (next >= end) return 0;
    if (next === at) throw new Malformed('a tag is malformed', at);
    const name = this.#names.find(bytes, at, next, hash);
    if (isSpace(bytes[next])) {
      this.isVerbatim = false;
      next = afterSpace(bytes, next, end);
      if (next >= end) return 0;
    }
    if (bytes[next] !== 0x3d) throw new Malformed('an attribute has no value', at);
    next += 1;
    if (isSpace(bytes[next])) {
      this.isVerbatim = false;
      next = afterSpace(bytes, next, end);
    }
    if (next >= end) return 0;
    const quote = bytes[next] ?? 0;
    if (quote !== 0x22) {
      if (quote !== 0x27) throw new Malformed('a value has no quotes', next);
      this.isVerbatim = false;
    }
    const start = next + 1;
    next = this.#value(bytes, start, end, quote);
    if (next === 0) return 0;
    if (name.declares === undefined) {
      if (!this.#valueIsPlain) this.isVerbatim = false;
      if (name.isPrefixed) this.hasPrefixedAttributes = true;
      const index = this.count;
      this.names[index] = name;
      this.valueStarts[index] = start;
      this.valueEnds[index] = next;
      this.arePlain[index] = this.#valueIsPlain;
      this.order[index] = index;
      this.count = index + 1;
    } else {
      const index = this.declarations;
      this.declared[index] = name;
      this.declaredStarts[index] = start;
      this.declaredEnds[index] = next;
      this.declarations = index + 1;
      this.isVerbatim = false;
    }
    return next + 1;
  }

  /** Returns the offset of the quote that ends a value, 0 if it is beyond the window. */
  #value(bytes: Buffer, start: number, end: number, quote: number): number {
    this.#valueIsPlain = true;
    for (let next = start; next < end;) {
      const byte = bytes[next] ?? 0;
      const kind = valueBytes[byte];
      if (kind === 0) {
        next += 1;
        continue;
      }
      if (byte === quote) return next;
      if (kind === 2) throw new Malformed('a character is not allowed', next);
      if (byte === 0x3c) throw new Malformed('a value contains <', next);
      if (byte === 0x26) {
        const behind = referenceEnd(bytes, next, end);
        if (behind === next) return 0;
        if (!isWrittenSo(bytes, next, behind, referredCodePoint(bytes, next, behind))) this.#valueIsPlain = false;
        next = behind;
        continue;
      }
      if (byte !== 0x27) this.#valueIsPlain = false;
      next += 1;
    }
    return 0;
  }

  /**
   * Puts the attributes into canonical order; their prefixes stand for something. Returns true if
   * they were so before.
   * @throws {Malformed} if two have the same namespace and local name
   */
  putInOrder(): boolean {
    const { count, order } = this;
    let index = 1;
    while (index < count && this.#compare(index - 1, index) < 0) index += 1;
    if (index >= count) return true;
    if (count <= insertionSortMax) {
      for (; index < count; index += 1) {
        let place = index;
        for (; place > 0 && this.#compare(order[place - 1] ?? 0, index) > 0; place -= 1) order[place] = order[place - 1] ?? 0;
        order[place] = index;
      }
    } else {
      order.length = count;
      order.sort((one, other) => this.#compare(one, other));
    }
    for (let at = 1; at < count; at += 1)
      if (this.#compare(order[at - 1] ?? 0, order[at] ?? 0) === 0)
        throw new Malformed('an attribute occurs twice', this.valueStarts[order[at] ?? 0] ?? 0);
    return false;
  }

  #compare(one: number, other: number): number {
    const first = this.names[one];
    const second = this.names[other];
    return first === undefined || second === undefined ? 0 : compareAttributes(first, second);
  }
}

/**
 * Returns true if Canonical XML writes the character of a reference in a value as it stands there.
 */
function isWrittenSo(bytes: Uint8Array, at: number, end: number, codePoint: number): boolean {
  if (bytes[at + 1] !== 0x23) return codePoint === 0x26 || codePoint === 0x3c || codePoint === 0x22;
  if (bytes[at + 2] !== 0x78) return false;
  if (end - at === 5) return (codePoint === 0x09 && bytes[at + 3] === 0x39) || bytes[at + 3] === 0x41 || bytes[at + 3] === 0x44;
  return false;
}
