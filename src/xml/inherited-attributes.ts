import { Malformed } from './markup-bytes.ts';
import { joinUriReferences } from './xml-base.ts';

/** No base of use is longer; combining many long ones would take hours. */
const combinedBytesMax = 8_192;

/**
 * An attribute of the namespace `xml`. Its value is normalised, with one unit for each byte of
 * UTF-8.
 */
interface XmlAttribute {
  readonly element: number;
  readonly localName: string;
  readonly value: string;
}

/** The attributes `xml:…` of open elements, from which the apex of a subtree may inherit. */
export class InheritedAttributes {
  /** `element` counts the elements around. */
  readonly #open: XmlAttribute[] = [];

  add(element: number, localName: string, value: string): void {
    this.#open.push({ element, localName, value });
  }

  /** Forgets the attributes of an element that ends. */
  end(element: number): void {
    while (this.#open.at(-1)?.element === element) this.#open.pop();
  }

  /**
   * Returns the attributes `xml:…` of an apex, its own and those that it inherits: local name to
   * value (Canonical XML 1.0 and 1.1, 2.4). `offset`: where the apex starts.
   * @throws {Malformed} if values of xml:base together have more than 8 KB
   */
  ofApex(element: number, rules: '1.0' | '1.1', offset: number): ReadonlyMap<string, string> {
    const around = this.#open.filter((attribute) => attribute.element !== element);
    const own = this.#open.filter((attribute) => attribute.element === element);
    const found = new Map<string, string>();
    for (const { localName, value } of around)
      if (rules === '1.0' || localName === 'lang' || localName === 'space') found.set(localName, value);
    for (const { localName, value } of own) found.set(localName, value);
    if (rules === '1.0' || !around.some(({ localName }) => localName === 'base')) return found;
    const bases = [...around, ...own].flatMap(({ localName, value }) => (localName === 'base' ? [value] : []));
    const base = bases.reduceRight((inner, outer) => {
      if (inner.length + outer.length > combinedBytesMax) throw new Malformed('values of xml:base are too long to be combined', offset);
      return joinUriReferences(outer, inner);
    });
    if (base === '') found.delete('base');
    else found.set('base', base);
    return found;
  }
}
