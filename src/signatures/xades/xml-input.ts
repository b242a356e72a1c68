import { createHash } from 'node:crypto';
import { contentBytes, contentPieces, type Content, type DocumentDigest } from '../../documents/content.ts';
import type { InputDocument } from '../../documents/document.ts';
import { Refusal } from '../../result-codes.ts';
import { decodeXml, type DecodedXml } from '../../xml/encoding.ts';
import { scanDocument, type DocumentLimits, type DocumentOutline } from '../../xml/scanner.ts';
import { StepBudget } from '../../xml/step-budget.ts';
import { XmlDocument } from '../../xml/xml-document.ts';
import { quoted, XmlFault } from '../../xml/xml-fault.ts';

/** Size of an XML document: libxml2 takes about thirteen times as much memory. */
export const xmlMaxBytes = 64 * 1024 * 1024;

/**
 * Limits of an XML document; see docs/xades.md. The stack of the libxml2 engine has 64 KiB, and
 * canonicalisation takes 256 bytes of it for each element around another. What is beyond overwrites
 * the tables of libxml2, and the engine stays broken.
 */
const limits: DocumentLimits = { depthMax: 200, attributesMax: 10_000, nodesMax: 8_000_000 };

/**
 * Limits of a result: a signature may be in the deepest element of a document, and around a
 * document.
 */
const resultLimits: DocumentLimits = { ...limits, depthMax: limits.depthMax + 20, nodesMax: limits.nodesMax + 100_000 };

/** A declaration with a longer URI is looked at more closely. */
const namespaceMaxBytes = 512;

/** Steps that the XPath expressions of a caller may take in all documents of a request: some 8 seconds. */
export const callerStepsMax = 200_000_000;

/** A document of a request, with what its caller may still spend. */
export interface CallerWork {
  /** JSON Pointer of the document. */
  readonly documentAt: string;
  readonly budget: StepBudget;
}

/** Steps that reading a signature of our own may take: more than its preparation took. */
export const ownStepsMax = 1_000_000_000;

/**
 * Steps that all references of the existing signatures of a document may take together: a second,
 * and more for a large document, up to 16.
 */
export function earlierSteps(documentBytes: number): StepBudget {
  return new StepBudget(Math.min(25_000_000 + 32 * documentBytes, 400_000_000));
}

/** An XML document of a request. */
export interface XmlBytes extends DecodedXml {
  readonly bytes: Uint8Array;
}

/** An XML document of a request, whose limits are checked. */
export interface XmlInput extends XmlBytes {
  readonly outline: DocumentOutline;
}

/**
 * Reads content as an XML document, without parsing it.
 * @throws {Refusal} UNSUPPORTED if it is too large
 * @throws {XmlFault} for a DOCTYPE, and beyond the limits
 */
export function xmlInput(content: Content): XmlInput {
  const xml = xmlBytes(content);
  if (xml.bytes.length === 0) throw new XmlFault('the document is empty');
  return { ...xml, outline: scanned(xml.utf8) };
}

/**
 * Checks that text of a request, which is UTF-8, does not say that it has another encoding: every
 * reader would take it for another text.
 * @throws {Refusal} FIELDS_INCONSISTENT
 */
export function checkTextEncoding({ isText }: InputDocument, { encoding }: DecodedXml): void {
  if (isText !== true || encoding === 'UTF-8') return;
  throw new Refusal('FIELDS_INCONSISTENT', {
    message: `the XML declaration says ${encoding}, but plainData is signed as UTF-8; base64Data takes any encoding`,
  });
}

/** Reads content that `xmlInput` has read before. */
export function xmlBytes(content: Content): XmlBytes {
  const bytes = contentBytesOf(content);
  return { ...decodeXml(bytes), bytes };
}

/** Parses bytes that leave the service, as their receiver would. @throws {XmlFault} */
export function parsedXml(bytes: Uint8Array): XmlDocument {
  const { utf8 } = decodeXml(bytes);
  scanDocument(utf8, resultLimits);
  return XmlDocument.parse(utf8);
}

/**
 * Checks that no namespace URI has a character that canonical forms escape: libxml2 and xmlsec1 do
 * not escape it there, other implementations do, so that a signature would not verify everywhere.
 * @throws {XmlFault}
 */
export function checkNamespaces({ utf8 }: Pick<XmlBytes, 'utf8'>, document: XmlDocument): void {
  if (!mayEscapeNamespaces(utf8)) return;
  for (const element of document.elements()) {
    const escaped = Array.from(document.declaredNamespaces(element).values()).find((uri) => /[&<"\t\n\r]/.test(uri));
    if (escaped !== undefined)
      throw new XmlFault(`the namespace URI ${quoted(escaped)} contains a character that implementations canonicalise differently`);
  }
}

/**
 * Finds namespace declarations with references or quotation marks, and text that looks the same.
 */
function mayEscapeNamespaces(utf8: Uint8Array): boolean {
  const bytes = Buffer.from(utf8.buffer, utf8.byteOffset, utf8.length);
  for (let at = bytes.indexOf('xmlns'); at >= 0; at = bytes.indexOf('xmlns', at + 1)) {
    const end = Math.min(bytes.length, at + namespaceMaxBytes);
    const [, , value = ''] = /^xmlns[^=<>]*=\s*(["'])(.*?)\1/s.exec(bytes.toString('latin1', at, end)) ?? [undefined, undefined, '&'];
    if (/[&"]/.test(value)) return true;
  }
  return false;
}

/** Checks the limits of a document in UTF-8. @throws {XmlFault} */
export function scanned(utf8: Uint8Array): DocumentOutline {
  return scanDocument(utf8, limits);
}

export function contentOf({ source }: InputDocument): Content {
  if (!('content' in source)) throw new Error('a XAdES signature needs the content');
  return source.content;
}

/**
 * Returns the digest by which a changed file is found out. Content in memory does not change.
 */
export function fileDigest(content: Content, bytes: Uint8Array): { readonly documentDigest?: DocumentDigest } {
  if (content instanceof Uint8Array) return {};
  return { documentDigest: { hash: 'sha256', value: createHash('sha256').update(bytes).digest() } };
}

/**
 * Returns content that is to become part of an XML document.
 * @throws {Refusal} UNSUPPORTED if it is too large
 */
export function contentBytesOf(content: Content): Uint8Array {
  const size = contentBytes(content);
  if (size > xmlMaxBytes) {
    throw new Refusal('UNSUPPORTED', { message: `the document has ${size} bytes; at most ${xmlMaxBytes} are supported in XML` });
  }
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
 * is not as the document needs it, if that is the cause; refusals that name no place get it too
 */
export function refusingXml<T>(step: () => T, at?: string): T {
  const pointer = at === undefined ? {} : { at };
  try {
    return step();
  } catch (error) {
    if (error instanceof Refusal && error.at === undefined)
      throw new Refusal(error.code, { ...pointer, message: error.text, cause: error, recorded: error.recorded });
    if (!(error instanceof XmlFault)) throw error;
    throw new Refusal('DOCUMENT_INVALID', { ...pointer, message: error.message, cause: error });
  }
}
