import { rulesOf, type Canonicalisation } from './canonicalisation.ts';
import { offsets, type XmlNode } from './engine.ts';
import type { XmlDocument } from './xml-document.ts';
import { XmlFault } from './xml-fault.ts';

/** About half a minute of libxml2. */
const loadMax = 10_000_000_000;
/** A document with fewer declarations stays below the limit, however many elements it has. */
const declarationsMin = 32;

/**
 * Checks that a document of a caller can be canonicalised in a reasonable time. Canonical XML 1.0
 * and 1.1 need all namespaces in scope in each element, and libxml2 compares each of them with all
 * others there; exclusive canonicalisation does not.
 * @throws {XmlFault} if it would take too long
 */
export function checkNamespaceLoad(document: XmlDocument, algorithms: readonly Canonicalisation[]): void {
  if (algorithms.every((algorithm) => rulesOf(algorithm) === 'exclusive')) return;
  if (!document.mentions('xmlns', declarationsMin)) return;
  const { engine } = document;
  /** The open elements and the declarations in scope in each. */
  const open: { readonly element: XmlNode; readonly declarations: number }[] = [];
  let load = 0;
  for (const element of document.elements()) {
    const parent = document.parent(element);
    while (open.length > 0 && open.at(-1)?.element !== parent) open.pop();
    let declarations = open.at(-1)?.declarations ?? 0;
    for (let one = engine.get(element, offsets.namespaceDeclarations); one !== 0; one = engine.get(one, offsets.nsNext)) declarations += 1;
    open.push({ element, declarations });
    load += declarations * declarations;
    if (load > loadMax)
      throw new XmlFault(
        'the document has too many namespaces in scope for Canonical XML 1.0 and 1.1, which need them all in each element; exclusive canonicalisation is possible',
      );
  }
}
