import type { XmlNode } from '../xml/engine.ts';
import type { XmlDocument } from '../xml/xml-document.ts';
import { selectElements } from '../xml/xpath.ts';

/** The attributes that documents and validators take for Ids where no schema says so. */
const idAttributes = ['@Id', '@ID', '@id', '@xml:id'] as const;

/** Steps for a search by attribute: it visits each node a few times. */
const searchStepsMax = 0x7fff_ffff;

/** Returns the elements with an Id, in document order; at most two for each attribute. */
export function elementsWithId(document: XmlDocument, id: string): XmlNode[] {
  const quote = id.includes('"') ? "'" : '"';
  if (id.includes(quote)) return [];
  // A reference can stand for any character of a value.
  if (!document.mentions(id) && !document.mentions('&')) return [];
  const found = idAttributes.flatMap((attribute) =>
    selectElements({ expression: `//*[${attribute}=${quote}${id}${quote}]`, namespaces: {} }, document, searchStepsMax, 2),
  );
  return [...new Set(found)];
}
