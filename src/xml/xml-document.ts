import { engine, nodeTypes, offsets, renewIfLarge, type Engine, type Pointer, type XmlNode } from './engine.ts';
import { canonicaliseTree, type CanonicalRequest } from './tree-canonical.ts';
import { parseFault, quoted, XmlFault, XmlLimitFault } from './xml-fault.ts';

/** Limits of what is kept in the heap. */
const namesMax = 10_000;
const childrenMax = 100_000;
/** Length of a text that Node.js finds by the native search for its first byte; measured. */
const fastSearchMax = 6;
/** Bits of a mark that filters use. */
const marksMax = 30;
/** Mark of the nodes that an expression selects, for a moment. */
export const selectedMark = 1 << marksMax;

/**
 * Parser options: XML_PARSE_NOENT is not among them, so nothing is substituted; HUGE lifts the
 * limit of 10 MB for a text; NONET, NO_XXE and NO_SYS_CATALOG keep the parser from opening
 * anything; NOCDATA makes CDATA sections text, as in the data model of XPath; IGNORE_ENC takes the
 * bytes as UTF-8, which they are.
 */
const parseOptions = 0x80000 | 0x800 | 0x800000 | 0x2000000 | 0x4000 | 0x200000 | 0x400000 | 0x10000;

/** A parsed document. It lives outside the heap, so it must be disposed. */
export class XmlDocument implements Disposable {
  readonly engine: Engine;
  readonly address: Pointer;
  readonly root: XmlNode;
  readonly #utf8: Uint8Array;
  /** libxml2 stores each name once. */
  readonly #names = new Map<Pointer, string>();
  #marks = 0;

  private constructor(owner: Engine, address: Pointer, utf8: Uint8Array) {
    this.engine = owner;
    this.address = address;
    this.#utf8 = utf8;
    this.root = owner.library._xmlDocGetRootElement(address) as XmlNode;
  }

  /**
   * Parses a document in UTF-8 without a byte order mark, which `scanDocument` has accepted.
   * @throws {XmlFault} if it is not well formed, with respect to namespaces too
   */
  static parse(utf8: Uint8Array, owner: Engine = engine()): XmlDocument {
    const { library } = owner;
    return owner.withBytes(utf8, (bytes) => {
      const context = library._xmlNewParserCtxt();
      if (context === 0) throw new XmlFault('the document is too large');
      const { outcome: address, errors } = owner.withErrors(() => {
        library._xmlCtxtSetErrorHandler(context, owner.errorFunction, 0);
        // Without a name, libxml2 finds an encoding by the first bytes, which may be another one.
        return owner.withTexts(['UTF-8'], (encoding) => library._xmlCtxtReadMemory(context, bytes, utf8.length, 0, encoding, parseOptions));
      });
      library._xmlFreeParserCtxt(context);
      const [error] = errors;
      if (address !== 0 && error === undefined) return new XmlDocument(owner, address, utf8);
      if (address !== 0) library._xmlFreeDoc(address);
      throw parseFault(error);
    });
  }

  [Symbol.dispose](): void {
    this.engine.library._xmlFreeDoc(this.address);
    renewIfLarge();
  }

  /** Returns the local name. */
  localName(node: XmlNode): string {
    const address = this.engine.get(node, offsets.name);
    const known = this.#names.get(address);
    if (known !== undefined) return known;
    const name = this.engine.text(address) ?? '';
    if (this.#names.size < namesMax) this.#names.set(address, name);
    return name;
  }

  /** Returns the line of an element's start tag, from 1; 65535 for all lines behind that one. */
  line(node: XmlNode): number {
    return this.engine.get(node, offsets.line) & 0xffff;
  }

  /** Returns the namespace URI; undefined if there is none. */
  namespace(node: XmlNode): string | undefined {
    const namespace = this.engine.get(node, offsets.namespace);
    return namespace === 0 ? undefined : this.engine.text(this.engine.get(namespace, offsets.nsHref));
  }

  is(node: XmlNode, namespace: string, localName: string): boolean {
    return this.localName(node) === localName && this.namespace(node) === namespace;
  }

  parent(node: XmlNode): XmlNode | undefined {
    return this.#element(this.engine.get(node, offsets.parent));
  }

  /**
   * Returns the elements directly in a node.
   * @throws {XmlFault} if there are more than in any signature
   */
  children(node: XmlNode): XmlNode[] {
    const found: XmlNode[] = [];
    for (let child = this.engine.get(node, offsets.children); child !== 0; child = this.engine.get(child, offsets.next)) {
      if (this.engine.get(child, offsets.type) !== nodeTypes.element) continue;
      if (found.length === childrenMax) throw new XmlFault(`an element of a signature has more than ${childrenMax} children`);
      found.push(child as XmlNode);
    }
    return found;
  }

  /**
   * Runs `work`, and takes back the marks that it makes: the node sets that it makes are not valid
   * afterwards.
   */
  withMarks<T>(work: () => T): T {
    const before = this.#marks;
    try {
      return work();
    } finally {
      if (this.#marks > before) this.#keepMarks(before);
    }
  }

  /** Takes back all marks but the first ones. */
  #keepMarks(count: number): void {
    const kept = (1 << count) - 1;
    const { engine: owner } = this;
    const keep = (node: Pointer): void => owner.set(node, offsets.mark, owner.get(node, offsets.mark) & kept);
    keep(this.address);
    for (let node = owner.get(this.address, offsets.children); node !== 0; node = owner.get(node, offsets.next)) keep(node);
    for (const element of this.elements()) {
      for (let node = owner.get(element, offsets.children); node !== 0; node = owner.get(node, offsets.next)) keep(node);
      for (let one = owner.get(element, offsets.attributes); one !== 0; one = owner.get(one, offsets.next)) keep(one);
    }
    this.#marks = count;
  }

  /**
   * Returns a mark that no node of the document has.
   * @throws {XmlLimitFault} if there are none left
   */
  newMark(): number {
    if (this.#marks === marksMax) throw new XmlLimitFault(`a reference has more than ${marksMax / 2} XPath filters`);
    this.#marks += 1;
    return 1 << (this.#marks - 1);
  }

  mark(node: Pointer, mark: number): void {
    this.engine.set(node, offsets.mark, this.engine.get(node, offsets.mark) | mark);
  }

  unmark(node: Pointer, mark: number): void {
    this.engine.set(node, offsets.mark, this.engine.get(node, offsets.mark) & ~mark);
  }

  isMarked(node: Pointer, mark: number): boolean {
    return (this.engine.get(node, offsets.mark) & mark) !== 0;
  }

  child(node: XmlNode, namespace: string, localName: string): XmlNode | undefined {
    return this.children(node).find((child) => this.is(child, namespace, localName));
  }

  /**
   * Returns the value of an attribute; undefined if there is none. `namespace`: undefined for
   * attributes without one.
   */
  attribute(node: XmlNode, localName: string, namespace?: string): string | undefined {
    const { library } = this.engine;
    for (let one = this.engine.get(node, offsets.attributes); one !== 0; one = this.engine.get(one, offsets.next)) {
      if (this.localName(one as XmlNode) !== localName || this.namespace(one as XmlNode) !== namespace) continue;
      return this.#owned(library._xmlNodeGetContent(one));
    }
    return undefined;
  }

  /**
   * Returns the prefixes declared on an element itself with their URIs; '' is the default
   * namespace.
   */
  declaredNamespaces(node: XmlNode): Map<string, string> {
    const declared = new Map<string, string>();
    const { engine: owner } = this;
    for (let one = owner.get(node, offsets.namespaceDeclarations); one !== 0; one = owner.get(one, offsets.nsNext))
      declared.set(owner.text(owner.get(one, offsets.nsPrefix)) ?? '', owner.text(owner.get(one, offsets.nsHref)) ?? '');
    return declared;
  }

  /**
   * Returns the prefixes in scope at an element with their namespaces, without the default
   * namespace.
   */
  prefixesAt(element: XmlNode): Record<string, string> {
    const found = new Map<string, string>();
    for (let one: XmlNode | undefined = element; one !== undefined; one = this.parent(one))
      for (const [prefix, uri] of this.declaredNamespaces(one)) if (!found.has(prefix)) found.set(prefix, uri);
    found.delete('');
    return Object.fromEntries(found);
  }

  /** Returns the text of a node and everything in it. */
  text(node: XmlNode): string {
    return this.#owned(this.engine.library._xmlNodeGetContent(node));
  }

  /**
   * Checks whether the document has a text anywhere, `times` times at least. Without the text of
   * its name, which no references can replace, there is no such element.
   */
  mentions(text: string, times = 1): boolean {
    const { buffer, byteOffset, length } = this.#utf8;
    const bytes = Buffer.from(buffer, byteOffset, length);
    // The search for a short text is several times as fast as the one for a longer text.
    if (!bytes.includes(text.slice(0, fastSearchMax))) return false;
    let at = -1;
    for (let count = 0; count < times; count += 1) {
      at = bytes.indexOf(text, at + 1);
      if (at < 0) return false;
    }
    return true;
  }

  /** Its size in UTF-8. */
  get bytes(): number {
    return this.#utf8.length;
  }

  /** Yields the elements of a subtree in document order, the first one included. */
  *elements(from: XmlNode = this.root): Generator<XmlNode, void> {
    const { engine: owner } = this;
    let node: Pointer = from;
    for (;;) {
      if (owner.get(node, offsets.type) === nodeTypes.element) yield node as XmlNode;
      let next = owner.get(node, offsets.type) === nodeTypes.element ? owner.get(node, offsets.children) : 0;
      while (next === 0) {
        if (node === from) return;
        next = owner.get(node, offsets.next);
        if (next === 0) node = owner.get(node, offsets.parent);
      }
      node = next;
    }
  }

  /** Returns the position of an element among all elements in document order; the root has 0. */
  indexOf(element: XmlNode): number {
    let index = 0;
    for (const one of this.elements()) {
      if (one === element) return index;
      index += 1;
    }
    throw new RangeError('the element is not in the document');
  }

  /** Checks whether an element is in the subtree of another, or that element itself. */
  isWithin(element: XmlNode, ancestor: XmlNode): boolean {
    for (let one: XmlNode | undefined = element; one !== undefined; one = this.parent(one)) if (one === ancestor) return true;
    return false;
  }

  /**
   * Writes the canonical form, in pieces that are valid only during the call.
   * @throws {XmlFault} if there is none: a namespace URI that is relative
   */
  canonicalise(request: CanonicalRequest, write: (bytes: Uint8Array) => void): void {
    try {
      canonicaliseTree(this.engine, this.address, request, write);
    } catch (error) {
      throw error instanceof XmlFault ? this.#withoutCanonicalForm(error) : error;
    }
  }

  /** Returns the canonical form as one piece. @throws {XmlFault} as `canonicalise` */
  canonical(request: CanonicalRequest): Buffer {
    const parts: Buffer[] = [];
    this.canonicalise(request, (bytes) => parts.push(Buffer.from(bytes)));
    return Buffer.concat(parts);
  }

  #withoutCanonicalForm({ message }: XmlFault): XmlFault {
    for (const element of this.elements()) {
      const uris = Array.from(this.declaredNamespaces(element).values());
      const relative = uris.find((uri) => uri !== '' && !/^[A-Za-z][A-Za-z0-9+.-]*:/.test(uri));
      if (relative === undefined) continue;
      return new XmlFault(`the document has no canonical form: the namespace ${quoted(relative)} is not an absolute URI`);
    }
    return new XmlFault(`the document has no canonical form: ${message}`);
  }

  #element(address: Pointer): XmlNode | undefined {
    return address !== 0 && this.engine.get(address, offsets.type) === nodeTypes.element ? (address as XmlNode) : undefined;
  }

  /** Returns a text that libxml2 allocated, and releases it. */
  #owned(address: Pointer): string {
    const text = this.engine.text(address) ?? '';
    this.engine.library._free(address);
    return text;
  }
}
