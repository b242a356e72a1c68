import { contentBytes, contentPieces, type Content } from '../../documents/content.ts';
import { Refusal } from '../../result-codes.ts';
import { decodeXml, type DecodedXml } from '../../xml/encoding.ts';
import { scanDocument, type DocumentLimits } from '../../xml/scanner.ts';
import { XmlDocument } from '../../xml/xml-document.ts';
import { XmlFault } from '../../xml/xml-fault.ts';

/** Size of an XML document: libxml2 takes about thirteen times as much memory. */
export const xmlMaxBytes = 64 * 1024 * 1024;

/** Limits of an XML document; see docs/xades.md. */
const limits: DocumentLimits = { depthMax: 1000, attributesMax: 10_000, nodesMax: 8_000_000 };

/** Steps that the XPath expressions of one document may take together: some 20 seconds. */
export const xpathStepsMax = 500_000_000;

/** An XML document of a request. */
export interface XmlInput extends DecodedXml {
  readonly bytes: Uint8Array;
}

/**
 * Reads content as an XML document, without parsing it.
 * @throws {Refusal} UNSUPPORTED if it is too large
 * @throws {XmlFault} for a DOCTYPE, and beyond the limits
 */
export function xmlInput(content: Content): XmlInput {
  const size = contentBytes(content);
  if (size > xmlMaxBytes) {
    throw new Refusal('UNSUPPORTED', { message: `the document has ${size} bytes; XML documents of at most ${xmlMaxBytes} are supported` });
  }
  const bytes = bytesOf(content);
  if (bytes.length === 0) throw new XmlFault('the document is empty');
  const decoded = decodeXml(bytes);
  scanDocument(decoded.utf8, limits);
  return { ...decoded, bytes };
}

/** Parses bytes that leave the service, as their receiver would. @throws {XmlFault} */
export function parsedXml(bytes: Uint8Array): XmlDocument {
  const { utf8 } = decodeXml(bytes);
  scanDocument(utf8, limits);
  return XmlDocument.parse(utf8);
}

function bytesOf(content: Content): Uint8Array {
  if (content instanceof Uint8Array) return content;
  const bytes = Buffer.allocUnsafe(content.bytes);
  let at = 0;
  for (const piece of contentPieces(content)) {
    bytes.set(piece, at);
    at += piece.length;
  }
  return bytes;
}

/**
 * Runs a step on the XML of a document.
 * @throws {Refusal} DOCUMENT_INVALID instead of an XmlFault. `at`: JSON Pointer of a parameter that
 * is not as the document needs it, if that is the cause
 */
export function refusingXml<T>(step: () => T, at?: string): T {
  try {
    return step();
  } catch (error) {
    if (!(error instanceof XmlFault)) throw error;
    throw new Refusal('DOCUMENT_INVALID', { ...(at === undefined ? {} : { at }), message: error.message, cause: error });
  }
}
