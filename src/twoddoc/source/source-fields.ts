import type { XmlNode } from '../../xml/engine.ts';
import type { XmlDocument } from '../../xml/xml-document.ts';
import { dataIdentifier, type DataIdentifier } from '../tables/data-identifiers.ts';
import type { DocumentType } from '../tables/document-types.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import type { ZoneField } from '../zone/parse-zone.ts';
import { brokenPresence } from '../zone/presence-rules.ts';
import { nameOf, placeOf, textOf } from './source-element.ts';
import { fieldOfSource, shown } from './source-value.ts';

/**
 * Reads the fields in `message` or `annex`.
 * @param type - for the message: decides which fields it has; an annex has any, each at most once
 * @throws {TwoDDocFault} for the first rule that they break
 */
export function readFields(document: XmlDocument, parent: XmlNode, type?: DocumentType): readonly ZoneField[] {
  const elements = document.children(parent);
  const fields = elements.map((element) => readField(document, element));
  const broken = type === undefined ? brokenAnnex(fields) : brokenPresence(type, fields, elementName);
  if (broken === undefined) return fields;
  const { id, index, rule } = broken;
  const element = index === undefined ? undefined : elements[index];
  if (element !== undefined) throw new TwoDDocFault(`${placeOf(document, element)}: ${rule}`);
  throw new TwoDDocFault(`${placeOf(document, parent)}: ${id === undefined ? '' : `${elementName(id)} is `}${rule}`);
}

function elementName(id: string): string {
  return `D${id}`;
}

function brokenAnnex(fields: readonly ZoneField[]): { readonly id?: string; readonly index?: number; readonly rule: string } | undefined {
  if (fields.length === 0) return { rule: 'at least one field is mandatory' };
  const index = fields.findIndex(({ id }, at) => fields.findIndex((other) => other.id === id) < at);
  return index < 0 ? undefined : { index, rule: 'allowed only once' };
}

function readField(document: XmlDocument, element: XmlNode): ZoneField {
  const name = nameOf(document, element);
  const place = placeOf(document, element);
  const identifier = name.startsWith('D') ? dataIdentifier(name.slice(1)) : undefined;
  if (identifier === undefined) {
    const [, id] = /^D([0-9A-Z]{2})$/.exec(name) ?? [];
    const rule = id === undefined ? 'the name of a field is D and a data identifier, such as D10' : `there is no data identifier ${id}`;
    throw new TwoDDocFault(`${place}: not a field; ${rule}`);
  }
  return fieldOfSource(identifier, textOf(document, element), mayCut(document, element, identifier, place), place);
}

/** Reads the attribute `truncate`: whether the value is cut to its maximum length. */
function mayCut(document: XmlDocument, element: XmlNode, identifier: DataIdentifier, place: string): boolean {
  const truncate = document.attribute(element, 'truncate');
  if (truncate === undefined) return false;
  if (!identifier.truncatable) throw new TwoDDocFault(`${place}: the attribute truncate is not allowed, since the value must not be cut`);
  if (truncate !== 'never' && truncate !== 'allowed')
    throw new TwoDDocFault(`${place}: the attribute truncate is ${shown(truncate)}, expected: never or allowed`);
  return truncate === 'allowed';
}
