import type { XmlNode } from '../xml/engine.ts';
import { StepBudget } from '../xml/step-budget.ts';
import type { XmlDocument } from '../xml/xml-document.ts';
import { selectElements } from '../xml/xpath.ts';

/** Enough for any document: a search by attribute visits each node a few times. */
const searchStepsMax = 0x7fff_ffff;

/**
 * Returns the elements with an Id, in document order, two at most. Which attributes are Ids,
 * schemas say, which nobody reads: some validators take `Id`, `ID`, `id` and `xml:id`, some every
 * attribute with this local name in any case. An Id is unique only if all of them agree.
 */
export function elementsWithId(document: XmlDocument, id: string, budget = new StepBudget(searchStepsMax)): XmlNode[] {
  const quote = id.includes('"') ? "'" : '"';
  if (id === '' || id.includes(quote)) return [];
  // A reference can stand for any character of a value.
  if (!document.mentions(id) && !document.mentions('&')) return [];
  const isId = `translate(local-name(), 'ID', 'id') = 'id' and normalize-space(.) = ${quote}${id}${quote}`;
  return selectElements({ expression: `//*[@*[${isId}]]`, namespaces: {}, isOwn: true }, document, budget, 2);
}
