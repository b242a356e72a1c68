import { Refusal } from '../../result-codes.ts';
import { insertionAt, insertionIn, type Insertion } from '../../xml/insertion.ts';
import { elementsBefore } from '../../xml/scanner.ts';
import type { XmlNode } from '../../xml/engine.ts';
import type { XmlDocument } from '../../xml/xml-document.ts';
import { XmlFault } from '../../xml/xml-fault.ts';
import { dsNamespace } from '../../xmldsig/algorithm-uris.ts';
import { selectElements, type XPath } from '../../xml/xpath.ts';
import type { EnvelopedParameters } from './enveloped-state.ts';
import { signedInfoName } from './earlier-signatures.ts';
import { refusingXml, type CallerWork, type XmlInput } from './xml-input.ts';

interface Limited extends Pick<CallerWork, 'budget'> {
  readonly document: XmlDocument;
}

/** The place of a signature in a document. */
export interface SignaturePlace extends Insertion {
  /** The element at which it is placed. */
  readonly element: XmlNode;
  /** Number of elements that begin before it. */
  readonly elementsBefore: number;
}

/**
 * Returns the place of the signature.
 * @throws {Refusal} DOCUMENT_INVALID, FIELD_INVALID for the XPath; FIELDS_INCONSISTENT beside the
 * root; NOT_PERMITTED_BY_DOCUMENT within an existing signature
 */
export function insertionOf(
  document: XmlDocument,
  { utf8, outline }: XmlInput,
  { position, place, at }: EnvelopedParameters,
  { documentAt, budget }: CallerWork,
): SignaturePlace {
  const element = position === undefined ? document.root : positionElement({ document, budget }, position, at);
  if (element === document.root && place === 'NEXT_SIBLING') {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: `${at}/signaturePosition`,
      message: 'NEXT_SIBLING of the root element: a document has only one root; name another element in xpathSignaturePosition',
    });
  }
  if (position !== undefined) checkOutsideSignatures(document, place === 'NEXT_SIBLING' ? document.parent(element) : element, at);
  return refusingXml(() => {
    if (element === document.root && outline.root !== undefined) {
      const insertion = insertionIn(utf8, { ...outline.root, ancestors: [] }, place);
      return { ...insertion, element, elementsBefore: place === 'LAST_CHILD' ? outline.elements : 1 };
    }
    const insertion = insertionAt(utf8, document.indexOf(element), place);
    return { ...insertion, element, elementsBefore: elementsBefore(utf8, insertion.offset) };
  }, documentAt);
}

function positionElement({ document, budget }: Limited, { expression, namespaces }: XPath, at: string): XmlNode {
  const bound = { ...document.prefixesAt(document.root), ...namespaces };
  return refusingXml(() => {
    const [element] = selectElements({ expression, namespaces: bound }, document, budget);
    if (element === undefined)
      throw new XmlFault('the XPath expression selects no element of the document; names without a prefix are those in no namespace');
    return element;
  }, `${at}/xpathSignaturePosition`);
}

/**
 * Checks that a place is not within an existing signature, whose time-stamps and structure a new
 * element would break. A signature is what has SignedInfo: its name may be another one.
 */
function checkOutsideSignatures(document: XmlDocument, around: XmlNode | undefined, at: string): void {
  if (!document.mentions(signedInfoName)) return;
  const open = new Set<XmlNode | undefined>();
  for (let one = around; one !== undefined; one = document.parent(one)) open.add(one);
  for (const element of document.elements()) {
    const isWithin =
      (document.is(element, dsNamespace, 'Signature') && open.has(element)) ||
      (document.is(element, dsNamespace, signedInfoName) && open.has(document.parent(element)));
    if (!isWithin) continue;
    throw new Refusal('NOT_PERMITTED_BY_DOCUMENT', {
      at: `${at}/xpathSignaturePosition`,
      message: 'the place is within an existing signature; NEXT_SIBLING of that signature is the place behind it',
    });
  }
}
