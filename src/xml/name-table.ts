import { hasBytes, Malformed, nameStartBytes } from './markup-bytes.ts';
import type { NamespaceScope, Prefix } from './namespace-scope.ts';

/** A name that elements or attributes of a document have. */
export class Name {
  readonly bytes: Uint8Array;
  readonly prefix: Prefix;
  /** One unit for each byte of UTF-8. */
  readonly localName: string;
  /** The prefix that an attribute of this name declares. */
  readonly declares: Prefix | undefined;
  readonly isPrefixed: boolean;
  /** Some part leaves out elements with this local name. */
  readonly isWatched: boolean;
  /** A name that was found to be before this one in canonical order; neither has a prefix. */
  before: Name | undefined;
  /** Made when they are first used: most names of a small document are written as they stand. */
  #asAttribute: Buffer | undefined;
  #startTag: Buffer | undefined;
  #endTag: Buffer | undefined;

  constructor(bytes: Uint8Array, prefix: Prefix, localName: string, declares: Prefix | undefined, isWatched: boolean) {
    this.bytes = bytes;
    this.prefix = prefix;
    this.localName = localName;
    this.declares = declares;
    this.isPrefixed = prefix.text !== '';
    this.isWatched = isWatched;
    this.before = undefined;
  }

  /** An attribute of this name as Canonical XML writes it, up to the quote before the value. */
  get asAttribute(): Buffer {
    this.#asAttribute ??= Buffer.from(` ${this.#qualified}="`, 'latin1');
    return this.#asAttribute;
  }

  /** A start tag of this name, up to the name. */
  get startTag(): Buffer {
    this.#startTag ??= Buffer.from(`<${this.#qualified}`, 'latin1');
    return this.#startTag;
  }

  get endTag(): Buffer {
    this.#endTag ??= Buffer.from(`</${this.#qualified}>`, 'latin1');
    return this.#endTag;
  }

  get #qualified(): string {
    return this.isPrefixed ? `${this.prefix.text}:${this.localName}` : this.localName;
  }
}

const slots = 512;
const namesKeptMax = 20_000;

/** Finds names by their bytes, without a string for each occurrence. */
export class NameTable {
  readonly #scope: NamespaceScope;
  readonly #watched: ReadonlySet<string>;
  /** The name that was used last of those with the same slot. */
  readonly #recent = Array<Name | undefined>(slots).fill(undefined);
  /**
   * Its keys are hashed with a secret of the process, unlike the slots: nobody can choose names
   * that collide.
   */
  readonly #names = new Map<string, Name>();

  constructor(scope: NamespaceScope, watched: ReadonlySet<string>) {
    this.#scope = scope;
    this.#watched = watched;
  }

  /** `hash`: any number that is a function of the bytes. */
  find(bytes: Buffer, start: number, end: number, hash: number): Name {
    const slot = (hash ^ (hash >>> 12)) & (slots - 1);
    const recent = this.#recent[slot];
    if (recent !== undefined && hasBytes(recent.bytes, bytes, start, end)) return recent;
    const qualified = bytes.toString('latin1', start, end);
    let name = this.#names.get(qualified);
    if (name === undefined) {
      name = this.#make(qualified, bytes, start);
      this.#names.set(qualified, name);
    }
    this.#recent[slot] = name;
    return name;
  }

  /** To be called between tags: a table of names without end would need memory without end. */
  trim(): void {
    if (this.#names.size <= namesKeptMax) return;
    this.#names.clear();
    this.#recent.fill(undefined);
    this.#scope.forgetUnbound();
  }

  #make(qualified: string, bytes: Uint8Array, offset: number): Name {
    const colon = qualified.indexOf(':');
    const prefix = colon < 0 ? '' : qualified.slice(0, colon);
    const localName = qualified.slice(colon + 1);
    const isWrong =
      localName.includes(':') ||
      colon === 0 ||
      nameStartBytes[bytes[offset] ?? 0] === 0 ||
      nameStartBytes[bytes[offset + colon + 1] ?? 0] === 0;
    if (isWrong) throw new Malformed('a name is malformed', offset);
    const declares = qualified === 'xmlns' ? this.#scope.default : prefix === 'xmlns' ? this.#scope.prefix(localName) : undefined;
    const nameBytes = new Uint8Array(qualified.length);
    for (let index = 0; index < nameBytes.length; index += 1) nameBytes[index] = bytes[offset + index] ?? 0;
    return new Name(nameBytes, this.#scope.prefix(prefix), localName, declares, this.#watched.has(localName));
  }
}

/**
 * Compares names of attributes by namespace and local name (Canonical XML 1.0, 2.3), where their
 * prefixes stand for something.
 */
export function compareAttributes(one: Name, other: Name): number {
  if (other.before === one) return -1;
  if (one.before === other) return 1;
  if (one.isPrefixed || other.isPrefixed) {
    const first = one.isPrefixed ? (one.prefix.binding?.uri ?? '') : '';
    const second = other.isPrefixed ? (other.prefix.binding?.uri ?? '') : '';
    if (first !== second) return first < second ? -1 : 1;
    if (one.localName === other.localName) return 0;
    return one.localName < other.localName ? -1 : 1;
  }
  if (one === other) return 0;
  if (one.localName < other.localName) {
    other.before = one;
    return -1;
  }
  one.before = other;
  return 1;
}
