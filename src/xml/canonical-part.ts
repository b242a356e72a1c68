import { attributeValue, binary, escapedValue } from './attribute-value.ts';
import { keepsComments, rulesOf, type Canonicalisation } from './canonicalisation.ts';
import { ChunkWriter } from './chunk-writer.ts';
import type { Name } from './name-table.ts';
import { declarationOf, xmlNamespaceUri, type Namespace, type NamespaceScope, type Prefix } from './namespace-scope.ts';
import type { StartTag } from './start-tag.ts';

/** A part of a document, and the canonical form in which it is to be written. */
export interface CanonicalPart {
  /** Index of the apex in document order, the root is 0. Undefined: the whole document. */
  readonly apex: number | undefined;
  readonly algorithm: Canonicalisation;
  /**
   * The PrefixList of exclusive canonicalisation, `#default` for the default namespace. The other
   * algorithms ignore it.
   */
  readonly inclusivePrefixes?: readonly string[];
  /**
   * Elements that are left out with everything in them, the apex and those around it included.
   * `namespace` undefined: none.
   */
  readonly without?: readonly { readonly namespace: string | undefined; readonly localName: string }[];
  /** Comments are left out although the algorithm keeps them, as for the references "" and #id. */
  readonly leavesOutComments?: boolean;
  /** Called with chunks of some 64 KB, which are valid only during the call. */
  readonly write: (bytes: Uint8Array) => void;
}

/** What has been written of a part. */
export class PartInProgress {
  readonly apex: number | undefined;
  readonly rules: '1.0' | '1.1' | 'exclusive';
  readonly keepsComments: boolean;
  readonly output: ChunkWriter;
  /** Depth of the open element that is left out, undefined if there is none. */
  leftOutAt: number | undefined;
  readonly #without: readonly { readonly namespace: string; readonly localName: string }[];
  readonly #inclusive: ReadonlySet<string>;
  /**
   * Prefixes to declare in the start tag that is to be written, in canonical order. Arrays keep
   * their length: to shorten one costs time.
   */
  readonly #toDeclare: Prefix[] = [];
  #declarations = 0;
  /**
   * Exclusive: namespaces that the open elements declare, by slots of prefixes, and what to restore
   * at their ends.
   */
  readonly #written: (Namespace | undefined)[] = [];
  readonly #changed: Prefix[] = [];
  readonly #previous: (Namespace | undefined)[] = [];
  readonly #changedAt: number[] = [];
  #changes = 0;

  constructor(part: CanonicalPart) {
    this.apex = part.apex;
    this.rules = rulesOf(part.algorithm);
    this.keepsComments = keepsComments(part.algorithm) && part.leavesOutComments !== true;
    this.output = new ChunkWriter(part.write);
    this.#without = (part.without ?? []).map(({ namespace, localName }) => ({
      namespace: binary(namespace ?? ''),
      localName: binary(localName),
    }));
    this.#inclusive = new Set(part.inclusivePrefixes?.map((prefix) => (prefix === '#default' ? '' : binary(prefix))));
  }

  /** Local names of the elements that the part leaves out. */
  get watched(): readonly string[] {
    return this.#without.map(({ localName }) => localName);
  }

  leavesOut(name: Name): boolean {
    const uri = name.prefix.binding?.uri ?? '';
    return this.#without.some(({ namespace, localName }) => namespace === uri && localName === name.localName);
  }

  /**
   * Finds the prefixes that the start tag of an element declares in this part. `declared`: prefixes
   * that stand for something else than around the element. Returns true if there are any.
   */
  findDeclarations(tag: StartTag, declared: readonly Prefix[], scope: NamespaceScope, isApex: boolean, depth: number): boolean {
    this.#declarations = 0;
    const inScope = isApex ? scope.bound() : declared;
    if (this.rules === 'exclusive') {
      if (tag.name !== undefined) this.#declareIfNew(tag.name.prefix, depth, scope);
      if (tag.hasPrefixedAttributes)
        for (let index = 0; index < tag.count; index += 1) {
          const attribute = tag.names[index];
          if (attribute?.isPrefixed === true) this.#declareIfNew(attribute.prefix, depth, scope);
        }
      if (this.#inclusive.size > 0)
        for (const prefix of inScope) if (this.#inclusive.has(prefix.text)) this.#declareIfNew(prefix, depth, scope);
    } else {
      for (let index = 0; index < inScope.length; index += 1) this.#declare(inScope[index]);
    }
    if (this.#declarations > 1) {
      const inOrder = this.#toDeclare.slice(0, this.#declarations).toSorted((one, other) => (one.text < other.text ? -1 : 1));
      for (let index = 0; index < inOrder.length; index += 1) this.#toDeclare[index] = inOrder[index] ?? scope.default;
    }
    return this.#declarations > 0;
  }

  #declare(prefix: Prefix | undefined): void {
    if (prefix === undefined) return;
    this.#toDeclare[this.#declarations] = prefix;
    this.#declarations += 1;
  }

  #declareIfNew(prefix: Prefix, depth: number, scope: NamespaceScope): void {
    const { binding } = prefix;
    const written = this.#written[prefix.slot];
    if (binding === undefined || binding === written || binding.uri === (written ?? scope.none).uri || prefix.text === 'xml') return;
    this.#declare(prefix);
    const change = this.#changes;
    this.#written[prefix.slot] = binding;
    this.#changed[change] = prefix;
    this.#previous[change] = written;
    this.#changedAt[change] = depth;
    this.#changes = change + 1;
  }

  /** To be called at the end of an element that is in the part. */
  endElement(depth: number): void {
    let changes = this.#changes;
    for (; changes > 0 && this.#changedAt[changes - 1] === depth; changes -= 1) {
      const prefix = this.#changed[changes - 1];
      if (prefix !== undefined) this.#written[prefix.slot] = this.#previous[changes - 1];
    }
    this.#changes = changes;
  }

  /** Writes the declarations that were found. */
  writeDeclarations(): void {
    const toDeclare = this.#toDeclare;
    for (let at = 0; at < this.#declarations; at += 1) {
      const prefix = toDeclare[at];
      if (prefix !== undefined) this.output.bytes(declarationOf(prefix));
    }
  }

  /** Writes a start tag with the declarations that were found. */
  writeStartTag(tag: StartTag, bytes: Buffer, xmlAttributes: ReadonlyMap<string, string> | undefined): void {
    const { output } = this;
    if (tag.name !== undefined) output.bytes(tag.name.startTag);
    this.writeDeclarations();
    if (xmlAttributes === undefined) for (let at = 0; at < tag.count; at += 1) this.#writeAttribute(tag, tag.order[at] ?? 0, bytes);
    else this.#writeWith(xmlAttributes, tag, bytes);
    output.byte(0x3e);
  }

  #writeAttribute(tag: StartTag, index: number, bytes: Buffer): void {
    const { output } = this;
    const start = tag.valueStarts[index] ?? 0;
    const end = tag.valueEnds[index] ?? 0;
    const name = tag.names[index];
    if (name === undefined) return;
    output.bytes(name.asAttribute);
    if (tag.arePlain[index] === true) {
      const endsWithQuote = bytes[end] === 0x22;
      output.copy(bytes, start, endsWithQuote ? end + 1 : end);
      if (endsWithQuote) return;
    } else {
      output.bytes(escapedValue(attributeValue(bytes, start, end)));
    }
    output.byte(0x22);
  }

  /**
   * Writes the attributes of an apex, with `xmlAttributes` instead of its own ones of the namespace
   * `xml`.
   */
  #writeWith(xmlAttributes: ReadonlyMap<string, string>, tag: StartTag, bytes: Buffer): void {
    const others = tag.order.slice(0, tag.count).filter((index) => tag.names[index]?.prefix.text !== 'xml');
    const isBefore = (index: number): boolean => {
      const name = tag.names[index];
      return name === undefined || !name.isPrefixed || (name.prefix.binding?.uri ?? '') < xmlNamespaceUri;
    };
    for (const index of others) if (isBefore(index)) this.#writeAttribute(tag, index, bytes);
    for (const [localName, value] of [...xmlAttributes].toSorted(([one], [other]) => (one < other ? -1 : 1))) {
      this.output.bytes(Buffer.from(` xml:${localName}="`, 'latin1'));
      this.output.bytes(escapedValue(value));
      this.output.byte(0x22);
    }
    for (const index of others) if (!isBefore(index)) this.#writeAttribute(tag, index, bytes);
  }
}
