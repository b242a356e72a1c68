import { decodeXml } from '../../xml/encoding.ts';
import type { XmlNode } from '../../xml/engine.ts';
import { scanDocument } from '../../xml/scanner.ts';
import { XmlDocument } from '../../xml/xml-document.ts';
import { XmlFault } from '../../xml/xml-fault.ts';
import { schemaOf } from '../schemas/schema-of.ts';
import type { DocumentType } from '../tables/document-types.ts';
import { TwoDDocFault } from '../two-d-doc-fault.ts';
import { publicType } from '../zone/header.ts';
import { readFields } from './source-fields.ts';
import { readSourceHeader } from './source-header.ts';
import { nameOf, placeOf, sourceNamespace } from './source-element.ts';
import { shown } from './source-value.ts';
import type { ZoneSource } from './zone-source.ts';

const sourceMaxBytes = 64 * 1024;
const limits = { depthMax: 16, attributesMax: 32, nodesMax: 4000 };

/**
 * Reads the XML source of a zone. It breaks no rule of its type: neither those of the tables nor
 * those of the schema.
 * @throws {TwoDDocFault} for the first rule that is broken: the message names the element, its line
 * and the rule
 */
export function readSource(xml: Uint8Array): ZoneSource {
  if (xml.length > sourceMaxBytes) throw new TwoDDocFault(`the source has ${xml.length} bytes; allowed are ${sourceMaxBytes}`);
  if (/^DC0[1-4]/.test(Buffer.from(xml.subarray(0, 4)).toString('latin1')))
    throw new TwoDDocFault('this is not XML but a ready-made zone, which createImage2DDoc takes as dataZone');
  try {
    const { utf8 } = decodeXml(xml);
    scanDocument(utf8, limits);
    using document = XmlDocument.parse(utf8);
    return readDocument(document);
  } catch (error) {
    throw error instanceof XmlFault ? new TwoDDocFault(error.message) : error;
  }
}

function readDocument(document: XmlDocument): ZoneSource {
  const { root } = document;
  if (!document.is(root, sourceNamespace, 'document'))
    throw new TwoDDocFault(`${placeOf(document, root)}: the root must be the element document of the namespace ${sourceNamespace}`);
  const { type, version } = readRoot(document);
  const [headerElement, messageElement, annexElement] = readParts(document);
  const header = readSourceHeader(document, headerElement, type, version);
  const fields = readFields(document, messageElement, type);
  if (annexElement !== undefined && version !== '04')
    throw new TwoDDocFault(`${placeOf(document, annexElement)}: allowed in version 04 only, but the version is ${version}`);
  const annex = annexElement === undefined ? [] : readFields(document, annexElement);
  checkSchema(document, type);
  return { version, type: type.code, header, fields, annex };
}

function readRoot(document: XmlDocument): { readonly type: DocumentType; readonly version: ZoneSource['version'] } {
  const { root } = document;
  const place = placeOf(document, root);
  const code = document.attribute(root, 'type');
  if (code === undefined) throw new TwoDDocFault(`${place}: the attribute type is mandatory, but missing`);
  const version = document.attribute(root, 'version') ?? '04';
  if (version !== '02' && version !== '03' && version !== '04')
    throw new TwoDDocFault(`${place}: the attribute version is ${shown(version)}, expected: 02, 03 or 04`);
  const perimeter = document.attribute(root, 'perimeter') ?? '01';
  if (perimeter !== '01')
    throw new TwoDDocFault(`${place}: the attribute perimeter is ${shown(perimeter)}, expected: 01, the only one whose fields are public`);
  return { type: publicType(code, place), version };
}

function readParts(document: XmlDocument): [header: XmlNode, message: XmlNode, annex: XmlNode | undefined] {
  const children = document.children(document.root);
  const names = ['header', 'message', 'annex'];
  const given = new Set(children.map((child) => nameOf(document, child)));
  const missing = ['header', 'message'].find((name) => !given.has(name));
  if (missing !== undefined && children.every((child) => names.includes(nameOf(document, child))))
    throw new TwoDDocFault(`${placeOf(document, document.root)}: ${missing} is mandatory, but missing`);
  for (const [index, child] of children.entries())
    if (nameOf(document, child) !== names[index])
      throw new TwoDDocFault(
        `${placeOf(document, child)}: not allowed here; a document has header, message and, if needed, annex, in this order`,
      );
  const [header, message, annex] = children;
  if (header === undefined || message === undefined) throw new Error('both are there');
  return [header, message, annex];
}

/** Codes of libxml2 for rules that only the schema has, with better words than its own. */
const wordings: Readonly<Record<number, string>> = {
  1824: 'the value is not a URI',
  1843: 'text between the elements is not allowed',
};

/** Checks the rules that are left: attributes, text outside of values, and the syntax of URIs. */
function checkSchema(document: XmlDocument, { code }: DocumentType): void {
  const violation = schemaOf(code)?.violation(document);
  if (violation === undefined) return;
  const { element, line } = violation;
  const rule = wordings[violation.code] ?? violation.message;
  throw new TwoDDocFault(`${element}${line > 0 ? ` (line ${line})` : ''}: ${rule.charAt(0).toLowerCase()}${rule.slice(1)}`);
}
