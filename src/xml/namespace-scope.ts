import { escapedValue } from './attribute-value.ts';
import { Malformed } from './malformed.ts';

/** A namespace as declarations name it. */
export interface Namespace {
  /** One unit for each byte of UTF-8; empty if there is none. */
  readonly uri: string;
  /** As Canonical XML writes the value of its declaration. */
  readonly escaped: Buffer;
}

/** A prefix and the namespace that it stands for at this place of a document. */
export interface Prefix {
  /** Empty for the default namespace. */
  readonly text: string;
  /** Its declaration as Canonical XML writes it, up to the quote before the value. */
  readonly declaration: Buffer;
  binding: Namespace | undefined;
  /** The element that last declared it, by its index in document order. */
  declaredBy: number;
}

export const xmlNamespaceUri = 'http://www.w3.org/XML/1998/namespace';
const declarationsNamespaceUri = 'http://www.w3.org/2000/xmlns/';
const namespacesKeptMax = 10_000;

/** Prefixes of a document, with the namespaces that they stand for at the place that has been reached. */
export class NamespaceScope {
  readonly none: Namespace = { uri: '', escaped: Buffer.alloc(0) };
  readonly default: Prefix = { text: '', declaration: Buffer.from(' xmlns="'), binding: this.none, declaredBy: -1 };
  readonly #prefixes = new Map<string, Prefix>([['', this.default]]);
  readonly #namespaces = new Map<string, Namespace>();
  /** What to restore at the ends of elements. */
  readonly #changed: Prefix[] = [];
  readonly #previous: (Namespace | undefined)[] = [];

  constructor() {
    this.prefix('xml').binding = this.#namespace(xmlNamespaceUri);
  }

  prefix(text: string): Prefix {
    let found = this.#prefixes.get(text);
    if (found === undefined) {
      found = { text, declaration: Buffer.from(` xmlns:${text}="`, 'latin1'), binding: undefined, declaredBy: -1 };
      this.#prefixes.set(text, found);
    }
    return found;
  }

  /** Prefixes with a namespace, except `xml`. */
  bound(): Prefix[] {
    return [...this.#prefixes.values()].filter(({ text, binding }) => text !== 'xml' && binding !== undefined && binding.uri !== '');
  }

  /** Forgets prefixes that stand for nothing here. Returns nothing that was returned before for them. */
  forgetUnbound(): void {
    for (const [text, { binding }] of this.#prefixes) if (binding === undefined) this.#prefixes.delete(text);
  }

  /** To be given to `restore` at the end of the element whose declarations follow. */
  get mark(): number {
    return this.#changed.length;
  }

  /**
   * Declares a prefix for an element. Returns true if it stood for something else around the element.
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
      found = { uri, escaped: escapedValue(uri) };
      this.#namespaces.set(uri, found);
    }
    return found;
  }
}
