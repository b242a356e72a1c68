import { createHash } from 'node:crypto';
import { Fault } from '../../faults.ts';
import { Refusal } from '../../result-codes.ts';
import { insertionAt, type Insertion, type InsertionPlace } from '../../xml/insertion.ts';
import { XmlDocument, type XmlNode } from '../../xml/xml-document.ts';
import { XmlFault } from '../../xml/xml-fault.ts';
import { selectElements, type XPath } from '../../xml/xpath.ts';
import { elementsWithId } from '../../xmldsig/ids.ts';
import { oneForEach, type SignatureFormat } from '../format.ts';
import { checkEarlierSignatures, holdingReferences, stillHold, type HoldingReferences } from './earlier-signatures.ts';
import { envelopedReference } from './enveloped-reference.ts';
import { composeSignature, signatureParts } from './signature-text.ts';
import { unsignedProperties } from './unsigned-properties.ts';
import { verifyXades } from './verify-xades.ts';
import { preparedXades, type XadesState } from './xades-state.ts';
import { signatureIds, type XadesParameters } from './xades-parameters.ts';
import { xadesWorkload } from './xades-workload.ts';
import { contentOf, parsedXml, refusingXml, xmlInput, xpathStepsMax, type XmlInput } from './xml-input.ts';

/** Where an enveloped signature goes and what it signs. */
export interface EnvelopedParameters extends XadesParameters {
  /** Selects the element at which the signature is placed; undefined: the root. */
  readonly position: XPath | undefined;
  readonly place: InsertionPlace;
  /** Id of the signed element; undefined: the whole document is signed. */
  readonly signedNode: string | undefined;
  /** XPath filter of the signed content. */
  readonly transformation: XPath | undefined;
  /** JSON Pointer of the member that these parameters come from. */
  readonly at: string;
}

/** State between the two steps. */
export interface EnvelopedState extends XadesState {
  readonly place: Omit<Insertion, 'around'>;
  /** SHA-256 of the document, base64. */
  readonly documentDigest: string;
  /** References of existing signatures that hold. */
  readonly earlier: HoldingReferences;
  /** JSON Pointer of the XPath that filters the signed content; null if there is none. */
  readonly xpathAt: string | null;
}

/** XAdES in the signed document (EN 319 132-1 §6; XML Signature §2.1). */
export const envelopedFormat: SignatureFormat<EnvelopedParameters, EnvelopedState> = {
  workload: ({ position, transformation, at }) =>
    xadesWorkload(
      transformation !== undefined ? `${at}/xpathTransformation` : position !== undefined ? `${at}/xpathSignaturePosition` : undefined,
    ),
  completion: ({ xpathAt }) => xadesWorkload(xpathAt ?? undefined),

  prepare(documents, parameters, chain, { now }) {
    if (chain === undefined) throw new Error('a XAdES signature binds the certificate of its signer');
    return oneForEach(documents, (input, index) => {
      const content = contentOf(input);
      const at = `/inputDocuments/${index}`;
      const xml = refusingXml(() => xmlInput(content), at);
      using document = refusingXml(() => XmlDocument.parse(xml.utf8), at);
      const ids = signatureIds(parameters, index);
      checkIds(document, parameters);
      const insertion = insertionOf(document, xml, parameters, at);
      const { reference, expected } = envelopedReference(document, insertion.element, `${ids.reference}-0`, parameters, at);
      const { around, ...place } = insertion;
      const mimeType = input.mimeType ?? 'text/xml';
      const composed = composeSignature({ parameters, ids, chain, now, references: [{ ...reference, mimeType }], around });
      if (parameters.validates) refusingXml(() => checkEarlierSignatures(document), at);
      const earlier = holdingReferences(document);
      if (earlier.length > 0)
        checkUnharmed(
          earlier,
          signed(
            xml,
            place,
            `${composed.text.beforeValue}${composed.text.beforeUnsigned}${composed.text.afterUnsigned}${composed.text.end}`,
          ),
          ids.signature,
        );
      const documentDigest = { hash: 'sha256', value: createHash('sha256').update(xml.bytes).digest() } as const;
      const { state, ...prepared } = preparedXades(composed, { parameters, ids, references: [expected], contents: [content] });
      return {
        documentDigest,
        signature: {
          ...prepared,
          state: {
            ...state,
            place: { offset: place.offset, replacedBytes: place.replacedBytes, before: place.before, after: place.after },
            documentDigest: documentDigest.value.toString('base64'),
            earlier,
            xpathAt: parameters.transformation === undefined ? null : `${parameters.at}/xpathTransformation`,
          },
        },
      };
    });
  },

  complete({ contents, state, hash }, value, signing, additions) {
    if (signing === undefined) throw new Error('a XAdES signature binds the certificate of its signer');
    const [content] = contents;
    if (content === undefined) throw new Error('the prepared content is missing');
    const xml = xmlInput(content);
    if (createHash('sha256').update(xml.bytes).digest('base64') !== state.documentDigest) throw new Fault('CONTENT_CHANGED');
    const { start, end } = signatureParts(state.text, value, unsignedProperties(state, additions));
    const pieces = signed(xml, state.place, `${start}${end}`);
    using result = parsedXml(Buffer.concat(pieces));
    verifyXades(result, { signatureId: state.signatureId, signing, value, hash, references: state.references });
    if (state.earlier.length > 0 && !stillHold(state.earlier, holdingReferences(result, state.signatureId)))
      throw new Error('the signature breaks an existing one');
    return { content: pieces, mimeType: 'application/xml', ending: '.xml' };
  },
};

/** Returns the document with a signature, in pieces. */
function signed(xml: XmlInput, { offset, replacedBytes, before, after }: EnvelopedState['place'], signature: string): Uint8Array[] {
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
function checkUnharmed(before: HoldingReferences, pieces: readonly Uint8Array[], ownId: string): void {
  using result = parsedXml(Buffer.concat(pieces));
  if (stillHold(before, holdingReferences(result, ownId))) return;
  throw new Refusal('NOT_PERMITTED_BY_DOCUMENT', {
    message:
      'an existing signature covers the place of the new one and leaves out no signature but itself, so another signature there would break it; a place outside of what it covers is possible',
  });
}

/** Checks that Ids that the caller chose are not in use. @throws {Refusal} DOCUMENT_INVALID */
function checkIds(document: XmlDocument, { ids, at }: EnvelopedParameters): void {
  const members = { signature: 'signatureId', signedProperties: 'signedPropertiesId', signatureValue: 'signatureValueId' } as const;
  for (const name of ['signature', 'signedProperties', 'signatureValue'] as const) {
    const id = ids[name];
    if (id === undefined || elementsWithId(document, id).length === 0) continue;
    throw new Refusal('DOCUMENT_INVALID', { at: `${at}/${members[name]}`, message: 'the document already has an element with this Id' });
  }
}

/**
 * Returns the place of the signature.
 * @throws {Refusal} DOCUMENT_INVALID, FIELD_INVALID for the XPath; FIELDS_INCONSISTENT beside the root
 */
function insertionOf(
  document: XmlDocument,
  { utf8 }: XmlInput,
  { position, place, at }: EnvelopedParameters,
  documentAt: string,
): Insertion & { readonly element: XmlNode } {
  const element = position === undefined ? document.root : positionElement(document, position, at);
  if (element === document.root && place === 'NEXT_SIBLING') {
    throw new Refusal('FIELDS_INCONSISTENT', {
      at: `${at}/signaturePosition`,
      message: 'NEXT_SIBLING of the root element: a document has only one root; name another element in xpathSignaturePosition',
    });
  }
  return refusingXml(() => ({ ...insertionAt(utf8, document.indexOf(element), place), element }), documentAt);
}

function positionElement(document: XmlDocument, { expression, namespaces }: XPath, at: string): XmlNode {
  const bound = { ...document.prefixesAt(document.root), ...namespaces };
  return refusingXml(() => {
    const [element] = selectElements({ expression, namespaces: bound }, document, xpathStepsMax);
    if (element === undefined) throw new XmlFault('the XPath expression selects no element of the document');
    return element;
  }, `${at}/xpathSignaturePosition`);
}
