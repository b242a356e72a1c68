import { escapedValue } from './attribute-value.ts';
import { Malformed } from './markup-bytes.ts';

/** A namespace as declarations name it. */
export interface Namespace {
  /** One unit for each byte of UTF-8; empty if there is none. */
  readonly uri: string;
  /** As Canonical XML writes the value of its declaration. */
  readonly escaped: string;
}

/** A prefix and the namespace that it stands for at this place of a document. */
export interface Prefix {
  /** Empty for the default namespace. */
  readonly text: string;
  /** The declaration that was written last, as Canonical XML writes it, and its namespace. */
  declaration: Buffer;
  declarationOf: Namespace | undefined;
  binding: Namespace | undefined;
  /** A small number that no other prefix has meanwhile. */
  readonly slot: number;
  /** The element that last declared it, by its index in document order. */
  declaredBy: number;
}

export const xmlNamespaceUri = 'http://www.w3.org/XML/1998/namespace';
const declarationsNamespaceUri = 'http://www.w3.org/2000/xmlns/';
const namespacesKeptMax = 10_000;
const empty = Buffer.alloc(0);

/**
 * Prefixes of a document, with the namespaces that they stand for at the place that has been
 * reached.
 */
export class NamespaceScope {
  readonly none: Namespace = { uri: '', escaped: '' };
  readonly default: Prefix = { text: '', declaration: empty, declarationOf: undefined, binding: this.none, slot: 0, declaredBy: -1 };
  readonly #prefixes = new Map<string, Prefix>([['', this.default]]);
  readonly #namespaces = new Map<string, Namespace>();
  readonly #freeSlots: number[] = [];
  /** What to restore at the ends of elements. */
  readonly #changed: Prefix[] = [];
  readonly #previous: (Namespace | undefined)[] = [];

  constructor() {
    this.prefix('xml').binding = this.#namespace(xmlNamespaceUri);
  }

  prefix(text: string): Prefix {
    let found = this.#prefixes.get(text);
    if (found === undefined) {
      found = {
        text,
        declaration: empty,
        declarationOf: undefined,
        binding: undefined,
        slot: this.#freeSlots.pop() ?? this.#prefixes.size,
        declaredBy: -1,
      };
      this.#prefixes.set(text, found);
    }
    return found;
  }

  /** Prefixes with a namespace, except `xml`. */
  bound(): Prefix[] {
    return [...this.#prefixes.values()].filter(({ text, binding }) => text !== 'xml' && binding !== undefined && binding.uri !== '');
  }

  /** Forgets prefixes that stand for nothing here; the objects for them are no longer valid. */
  forgetUnbound(): void {
    for (const [text, { binding, slot }] of this.#prefixes) {
      if (binding !== undefined) continue;
      this.#prefixes.delete(text);
      this.#freeSlots.push(slot);
    }
  }

  /** To be given to `restore` at the end of the element whose declarations follow. */
  get mark(): number {
    return this.#changed.length;
  }

  /**
   * Declares a prefix for an element. Returns true if it stood for something else around the
   * element.
   * @throws {Malformed} for what Namespaces in XML 1.0, 3 and 6.3 forbid
   */
  declare(prefix: Prefix, uri: string, element: number, offset: number): boolean {
    if (prefix.declaredBy === element) throw new Malformed('an attribute occurs twice', offset);
    prefix.declaredBy = element;
    if (uri === xmlNamespaceUri && prefix.text === 'xml') return false;
    if (uri === xmlNamespaceUri || uri === declarationsNamespaceUri || prefix.text === 'xml' || prefix.text === 'xmlns')
      throw new Malformed('the prefixes xml and xmlns, and their namespaces, are reserved', offset);
    if (uri === '' && prefix.text !== '') throw new Malformed('a prefix is declared without a namespace', offset);
    const previous = prefix.binding;
    if ((previous?.uri ?? '') === uri) return false;
    this.#changed.push(prefix);
    this.#previous.push(previous);
    prefix.binding = this.#namespace(uri);
    return true;
  }

  restore(mark: number): void {
    const changed = this.#changed;
    while (changed.length > mark) {
      const prefix = changed.pop();
      const previous = this.#previous.pop();
      if (prefix !== undefined) prefix.binding = previous;
    }
  }

  #namespace(uri: string): Namespace {
    if (uri === '') return this.none;
    let found = this.#namespaces.get(uri);
    if (found === undefined) {
      if (this.#namespaces.size >= namespacesKeptMax) this.#namespaces.clear();
      found = { uri, escaped: escapedValue(uri).toString('latin1') };
      this.#namespaces.set(uri, found);
    }
    return found;
  }
}

/** Returns the declaration of a prefix for what it stands for here, as Canonical XML writes it. */
export function declarationOf(prefix: Prefix): Buffer {
  const { binding } = prefix;
  if (prefix.declarationOf !== binding && binding !== undefined) {
    prefix.declaration = Buffer.from(` xmlns${prefix.text === '' ? '' : ':'}${prefix.text}="${binding.escaped}"`, 'latin1');
    prefix.declarationOf = binding;
  }
  return prefix.declaration;
}
