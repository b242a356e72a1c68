import { createHash } from 'node:crypto';
import { Refusal } from '../../result-codes.ts';
import { keepsComments } from '../../xml/canonicalisation.ts';
import type { XmlNode } from '../../xml/engine.ts';
import type { XmlDocument } from '../../xml/xml-document.ts';
import { xmlNamespaceUri } from '../../xml/namespace-scope.ts';
import { XmlFault } from '../../xml/xml-fault.ts';
import { dsNamespace } from '../../xmldsig/algorithm-uris.ts';
import { canonicalRequest, ReferenceBroken, selectsNothing, type ReferencedData } from '../../xmldsig/references.ts';
import { signatureName, withoutExpression, type ElementName, type Transform } from '../../xmldsig/transforms.ts';
import type { EnvelopedParameters } from './enveloped-state.ts';
import { canonicalTransform, rootPrefix, xpathTransform, type DataReference } from './signature-text.ts';
import type { ExpectedReference } from './xades-state.ts';
import { refusingXml, type CallerWork } from './xml-input.ts';

/** A reference to the document that contains the signature. */
export interface EnvelopedReference {
  readonly reference: Omit<DataReference, 'mimeType'>;
  readonly expected: ExpectedReference;
}

/**
 * Returns the reference to the signed content: the document or an element of it, without signatures
 * and, if the caller wants so, filtered by XPath. It leaves out all signatures and not only its
 * own, so that a later one does not break it. `position`: the element at which the signature is
 * placed.
 * @throws {Refusal} DOCUMENT_INVALID if nothing is signed, or the signed element is not unique
 */
export function envelopedReference(
  document: XmlDocument,
  position: XmlNode,
  id: string,
  parameters: EnvelopedParameters,
  { documentAt, budget }: CallerWork,
): EnvelopedReference {
  const { signedNode, transformation, canonicalisation, algorithm, at } = parameters;
  const names = leftOut(parameters);
  const data: ReferencedData = {
    uri: uriOf(parameters),
    transforms: [
      { kind: 'WITHOUT', names },
      ...filterOf(document, position, parameters),
      { kind: 'CANONICAL', algorithm: canonicalisation.contents },
    ],
  };
  const faultAt = transformation === undefined ? (signedNode === undefined ? documentAt : `${at}/signedNode`) : `${at}/xpathTransformation`;
  if (
    (signedNode !== undefined || transformation !== undefined) &&
    canonicalisation.contents.startsWith('C14N_11') &&
    document.mentions('xml:base')
  )
    throw joinsBases(documentAt);
  const digest = createHash(algorithm.hash);
  let bytes = 0;
  refusingXml(() => {
    try {
      const request = canonicalRequest(data, { document, signature: undefined, budget });
      if (request.apex !== undefined && signedNode !== undefined && !hasUsualId(document, request.apex, signedNode))
        throw new XmlFault(`the element with the Id ${JSON.stringify(signedNode)} has it in another attribute than Id, ID, id and xml:id`);
      // Comments and processing instructions outside the root are no content.
      if (!selectsNothing(request, document))
        document.canonicalise(request, (piece) => {
          bytes += piece.length;
          digest.update(piece);
        });
    } catch (error) {
      if (error instanceof ReferenceBroken)
        throw new XmlFault(
          `${error.found === 'none' ? 'no element of the document has' : 'several elements of the document have'} the Id ${JSON.stringify(signedNode ?? '')} (attributes Id, ID, id and xml:id)`,
        );
      throw error;
    }
    if (bytes === 0)
      throw new XmlFault(
        transformation === undefined ? 'there is nothing to sign outside the signatures' : 'the XPath expression selects nothing',
      );
  }, faultAt);
  const value = digest.digest();
  const transforms = data.transforms.map((transform) => transformText(transform));
  return {
    reference: { id, uri: data.uri ?? '', transforms, digest: value },
    expected: { uri: data.uri ?? '', digest: value.toString('base64') },
  };
}

/**
 * Returns the refusal of Canonical XML 1.1 where values of xml:base are to be joined (§2.4):
 * libxml2, and with it xmlsec1, joins them in another way than the recommendation.
 */
export function joinsBases(at: string): Refusal {
  return new Refusal('DOCUMENT_INVALID', {
    at,
    message:
      'the document has xml:base, which implementations of Canonical XML 1.1 treat differently; another canonicalisation is possible',
  });
}

/** Checks whether the Id is in an attribute that validators take for one. */
function hasUsualId(document: XmlDocument, element: XmlNode, id: string): boolean {
  const values = ['Id', 'ID', 'id'].map((name) => document.attribute(element, name));
  return [...values, document.attribute(element, 'id', xmlNamespaceUri)].includes(id);
}

/** Returns the names of the elements that the signature leaves out. */
export function leftOut({ root }: Pick<EnvelopedParameters, 'root'>): readonly ElementName[] {
  return root === undefined ? [signatureName] : [signatureName, root];
}

/**
 * Returns the URI. A bare fragment and the empty URI select no comments, whatever the algorithm
 * keeps (XML Signature §4.4.3.3).
 */
function uriOf({ signedNode, canonicalisation }: EnvelopedParameters): string {
  if (keepsComments(canonicalisation.contents)) return signedNode === undefined ? '#xpointer(/)' : `#xpointer(id('${signedNode}'))`;
  return signedNode === undefined ? '' : `#${signedNode}`;
}

/**
 * Returns the caller's filter with the prefixes that it uses: those in scope where the signature
 * is, and the caller's.
 */
function filterOf(document: XmlDocument, position: XmlNode, { transformation, place }: EnvelopedParameters): Transform[] {
  if (transformation === undefined) return [];
  const around = place === 'NEXT_SIBLING' ? (document.parent(position) ?? position) : position;
  const { expression, namespaces } = transformation;
  const inScope = { ...document.prefixesAt(around), ...namespaces, ds: dsNamespace };
  const used = Object.entries(inScope).filter(([prefix]) => expression.includes(`${prefix}:`));
  return [{ kind: 'XPATH', xpath: { expression, namespaces: Object.fromEntries(used) } }];
}

function transformText(transform: Transform): string {
  switch (transform.kind) {
    case 'CANONICAL':
      return canonicalTransform(transform.algorithm);
    case 'XPATH':
      return xpathTransform(transform.xpath.expression, transform.xpath.namespaces);
    case 'WITHOUT': {
      const own = transform.names.find((name) => name !== signatureName);
      const steps = transform.names.map(({ namespace, localName }) => ({
        prefix: namespace === dsNamespace ? 'ds' : namespace === undefined ? undefined : rootPrefix,
        localName,
      }));
      return xpathTransform(withoutExpression(steps), own?.namespace === undefined ? {} : { [rootPrefix]: own.namespace });
    }
    case 'ENVELOPED':
    case 'BASE64':
    case 'OTHER':
      throw new Error('not a transform that this service writes');
  }
}
