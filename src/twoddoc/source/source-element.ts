import type { XmlNode } from '../../xml/engine.ts';
import type { XmlDocument } from '../../xml/xml-document.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { shown } from './source-value.ts';

export const sourceNamespace = 'urn:2d-doc:source:1';

/** Returns the name and the line of an element, for a message. */
export function placeOf(document: XmlDocument, element: XmlNode): string {
  const name = document.localName(element);
  return `${name.length > 40 ? shown(name) : name} (line ${document.line(element)})`;
}

/**
 * Returns the local name of an element of the namespace of sources.
 * @throws {TwoDDocFault} for another one
 */
export function nameOf(document: XmlDocument, element: XmlNode): string {
  const namespace = document.namespace(element);
  if (namespace !== sourceNamespace)
    throw new TwoDDocFault(
      `${placeOf(document, element)}: an element of ${namespace === undefined ? 'no namespace' : `the namespace ${shown(namespace)}`} is not allowed; expected: ${sourceNamespace}`,
    );
  return document.localName(element);
}

/** Returns the text of an element. @throws {TwoDDocFault} if there are elements in it */
export function textOf(document: XmlDocument, element: XmlNode): string {
  if (document.children(element).length > 0) throw new TwoDDocFault(`${placeOf(document, element)}: elements in a value are not allowed`);
  return document.text(element);
}
