import type { XmlNode } from '../../xml/engine.ts';
import type { XmlDocument } from '../../xml/xml-document.ts';
import type { DocumentType } from '../tables/document-types.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { dayOfIso, hexOfDay } from '../zone/days.ts';
import { nameOf, placeOf, textOf } from './source-element.ts';
import { collapsed, shown } from './source-value.ts';
import type { SourceHeader, ZoneSource } from './zone-source.ts';

const patterns = {
  ca: { pattern: /^[A-Z]{2}[A-Z0-9]{2}$/, inWords: 'two letters A-Z and two letters or digits' },
  certificate: { pattern: /^[A-Z0-9]{4}$/, inWords: 'four letters A-Z or digits' },
  country: { pattern: /^[A-Z]{2}$/, inWords: 'two letters A-Z' },
} as const;

/**
 * Reads the element `header` of a source.
 * @throws {TwoDDocFault} for the first rule that it breaks
 */
export function readSourceHeader(document: XmlDocument, header: XmlNode, type: DocumentType, version: ZoneSource['version']): SourceHeader {
  const members = new Map<string, string>();
  for (const element of document.children(header)) {
    const name = nameOf(document, element);
    const place = placeOf(document, element);
    if (members.has(name)) throw new TwoDDocFault(`${place}: allowed only once`);
    if (name === 'issueDate' && type.issueDate === 'undated')
      throw new TwoDDocFault(`${place}: not allowed in type ${type.code}, whose documents are undated (FFFF)`);
    if (name === 'country' && version !== '04')
      throw new TwoDDocFault(`${place}: allowed in version 04 only, but the version is ${version}`);
    members.set(name, memberOf(name, textOf(document, element), place));
  }
  if (type.issueDate === 'required' && !members.has('issueDate'))
    throw new TwoDDocFault(`${placeOf(document, header)}: issueDate is mandatory in type ${type.code}, but missing`);
  return Object.fromEntries(members);
}

function memberOf(name: string, text: string, place: string): string {
  switch (name) {
    case 'ca':
    case 'certificate':
    case 'country': {
      const { pattern, inWords } = patterns[name];
      if (!pattern.test(text)) throw new TwoDDocFault(`${place}: ${shown(text)} is not ${inWords}`);
      return text;
    }
    case 'issueDate':
    case 'signatureDate': {
      const iso = collapsed(text);
      const day = dayOfIso(iso);
      if (day === undefined) throw new TwoDDocFault(`${place}: ${shown(iso)} is not a date such as 2012-11-15`);
      if (hexOfDay(day) === undefined) throw new TwoDDocFault(`${place}: ${iso} is not a day from 2000-01-01 to 2179-06-05`);
      return iso;
    }
    default:
      throw new TwoDDocFault(`${place}: not allowed in header; allowed: ca, certificate, issueDate, signatureDate and country`);
  }
}
