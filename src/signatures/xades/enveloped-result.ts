import { createHash } from 'node:crypto';
import { Refusal } from '../../result-codes.ts';
import type { CanonicalPart } from '../../xml/canonical-part.ts';
import { canonicalise } from '../../xml/canonical-stream.ts';
import { decodeXml } from '../../xml/encoding.ts';
import { inContext, type Insertion } from '../../xml/insertion.ts';
import type { XmlNode } from '../../xml/engine.ts';
import { XmlFault } from '../../xml/xml-fault.ts';
import type { StepBudget } from '../../xml/step-budget.ts';
import { XmlDocument } from '../../xml/xml-document.ts';
import { elementsWithId } from '../../xmldsig/ids.ts';
import { readSignature, type ReadReference, type ReadSignature } from '../../xmldsig/read-signature.ts';
import type { Transform } from '../../xmldsig/transforms.ts';
import type { Signing } from '../format.ts';
import { holdingReferences, stillHold, type HoldingReferences } from './earlier-signatures.ts';
import type { EnvelopedState } from './enveloped-state.ts';
import { signedPropertiesIn } from './read-properties.ts';
import { signatureParts, type SignatureText } from './signature-text.ts';
import { ContentNotCovered, holds, must, octetsIn, verifyReadSignature, verifyXades, type ResultOctets } from './verify-xades.ts';
import { parsedXml, refusingXml, type XmlBytes } from './xml-input.ts';

/** A finished signature as it must be. */
interface FinishedSignature extends Pick<
  EnvelopedState,
  'signatureId' | 'references' | 'place' | 'elementsBefore' | 'earlier' | 'xpathAt'
> {
  readonly signing: Signing;
  readonly value: Uint8Array;
}

/** Returns the document with a signature, in pieces. */
export function withSignature(
  xml: XmlBytes,
  { offset, replacedBytes, before, after }: Pick<Insertion, 'offset' | 'replacedBytes' | 'before' | 'after'>,
  signature: string,
): Uint8Array[] {
  return [
    xml.bytes.subarray(0, xml.offsetOf(offset)),
    xml.encode(`${before}${signature}${after}`),
    xml.bytes.subarray(xml.offsetOf(offset + replacedBytes)),
  ];
}

/**
 * Checks that existing signatures bear another one, before a key is used.
 * @throws {Refusal} NOT_PERMITTED_BY_DOCUMENT
 */
export function checkUnharmed(before: HoldingReferences, xml: XmlBytes, place: Insertion, text: SignatureText, ownId: string): void {
  using result = withUnfinished(xml, place, text, 0);
  if (stillHold(before, holdingReferences(result, ownId))) return;
  throw new Refusal('NOT_PERMITTED_BY_DOCUMENT', {
    message:
      'an existing signature covers the place of the new one and does not leave it out, so the new one would break it; a place outside of what it covers, if there is any, is possible',
  });
}

/** Returns the document with a signature whose value has this many bytes of zero. */
function withUnfinished(xml: XmlBytes, place: Insertion, text: SignatureText, valueBytes: number): XmlDocument {
  const { start, end } = signatureParts(text, new Uint8Array(valueBytes), '');
  return parsedXml(Buffer.concat(withSignature(xml, place, `${start}${end}`)));
}

/**
 * Checks that the filter of the caller selects the same once the signature is in the document: an
 * expression such as `string-length(.) > 9` would not.
 * @throws {Refusal} DOCUMENT_INVALID
 */
export function checkIndependent(
  xml: XmlBytes,
  place: Insertion,
  text: SignatureText,
  { signatureId, at, budget }: { readonly signatureId: string; readonly at: string; readonly budget: StepBudget },
): void {
  for (const valueBytes of [1, 4]) {
    using result = withUnfinished(xml, place, text, valueBytes);
    const [element] = elementsWithId(result, signatureId);
    if (element === undefined) throw new Error('the signature is not in the document');
    const signature = readSignature(result, element);
    const [reference] = signature.references;
    if (reference === undefined || !holds(octetsIn(result, signature, budget), reference)) throw selectsItself(at);
  }
}

function selectsItself(at: string): Refusal {
  return new Refusal('DOCUMENT_INVALID', {
    at,
    message: 'the XPath expression selects something else once the signature is in the document',
  });
}

/**
 * Checks a document with its signature, as it leaves the service. Where the signature covers the
 * whole document and is the first one, our own canonicaliser reads it, which shares no code with
 * libxml2, by which the signature was prepared.
 * @throws {Error} if a check fails
 */
export function verifyEnveloped(pieces: readonly Uint8Array[], xml: XmlBytes, signature: string, finished: FinishedSignature): void {
  const { references, earlier, xpathAt, signatureId } = finished;
  const [reference] = references;
  const isWhole = reference?.uri === '' || reference?.uri === '#xpointer(/)';
  if (isWhole && xpathAt === null && earlier.length === 0) {
    // Two implementations may read what no sound document has in different ways.
    refusingXml(() => {
      verifyInStream(xml.encoding === 'UTF-8' ? pieces : [decodeXml(Buffer.concat(pieces)).utf8], signature, finished);
    });
    return;
  }
  using result = parsedXml(Buffer.concat(pieces));
  try {
    verifyXades(result, finished);
  } catch (error) {
    // An expression can depend on the very length of the value.
    if (xpathAt !== null && error instanceof ContentNotCovered) throw selectsItself(xpathAt);
    // It also takes longer than before.
    if (xpathAt !== null && error instanceof XmlFault)
      throw new Refusal('DOCUMENT_INVALID', { at: xpathAt, message: error.message, cause: error });
    throw error;
  }
  if (earlier.length > 0) must(stillHold(earlier, holdingReferences(result, signatureId)), 'breaks an existing one');
}

function verifyInStream(utf8: readonly Uint8Array[], text: string, finished: FinishedSignature): void {
  const { around } = finished.place;
  using document = XmlDocument.parse(Buffer.from(inContext(around, text)));
  let element = document.root;
  for (let depth = 0; depth < around.length; depth += 1) element = onlyChild(document, element);
  must(document.attribute(element, 'Id') === finished.signatureId, 'is not in its place');
  const signature = readSignature(document, element);
  verifyReadSignature(document, signature, streamedOctets(utf8, document, signature, finished), finished);
}

/**
 * Canonicalises in one pass what the signature covers: the whole document, its properties and
 * SignedInfo.
 */
function streamedOctets(
  utf8: readonly Uint8Array[],
  document: XmlDocument,
  signature: ReadSignature,
  { elementsBefore }: FinishedSignature,
): ResultOctets {
  const properties = signedPropertiesIn(document, signature);
  const inSignature = Array.from(document.elements(signature.element));
  const indexOf = (element: XmlNode): number => elementsBefore + inSignature.indexOf(element);
  must(properties !== undefined && signature.signedInfoCanonicalisation !== undefined, 'lacks a part');
  const signedInfo: Buffer[] = [];
  const parts: CanonicalPart[] = [
    {
      ...method(signature.signedInfoCanonicalisation),
      apex: indexOf(signature.signedInfo),
      write: (bytes) => void signedInfo.push(Buffer.from(bytes)),
    },
  ];
  const digests = new Map<ReadReference, ReturnType<typeof createHash>>();
  for (const reference of signature.references) {
    must(reference.hash !== undefined, 'names an unknown hash');
    const digest = createHash(reference.hash);
    digests.set(reference, digest);
    const apex = reference.uri === '' || reference.uri === '#xpointer(/)' ? undefined : indexOf(properties);
    parts.push({ ...partOf(reference), apex, write: (bytes) => void digest.update(bytes) });
  }
  canonicalise(utf8, parts);
  return {
    signedInfo: Buffer.concat(signedInfo),
    digestOf: (reference) => digests.get(reference)?.digest() ?? new Uint8Array(),
  };
}

/** Returns the form of a reference from its transforms as they stand in the signature. */
function partOf({ uri, transforms }: ReadReference): Omit<CanonicalPart, 'apex' | 'write'> {
  const [canonical, ...filters] = transforms.toReversed();
  must(canonical?.kind === 'CANONICAL' && filters.every(({ kind }) => kind === 'WITHOUT'), 'has other transforms than were prepared');
  const without = filters.flatMap((filter) => (filter.kind === 'WITHOUT' ? filter.names : []));
  // A bare fragment and the empty URI select no comments (XML Signature §4.4.3.3).
  return { ...method(canonical), without, leavesOutComments: uri !== '#xpointer(/)' };
}

function method({ algorithm, inclusivePrefixes }: Transform & { kind: 'CANONICAL' }): {
  readonly algorithm: CanonicalPart['algorithm'];
  readonly inclusivePrefixes?: readonly string[];
} {
  return { algorithm, ...(inclusivePrefixes === undefined ? {} : { inclusivePrefixes }) };
}

function onlyChild(document: XmlDocument, element: XmlNode): XmlNode {
  const [child, ...others] = document.children(element);
  must(child !== undefined && others.length === 0, 'is not in its place');
  return child;
}
