import type { HashName, SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { XmlNode } from '../xml/engine.ts';
import type { XmlDocument } from '../xml/xml-document.ts';
import { XmlFault } from '../xml/xml-fault.ts';
import { dsNamespace, hashOfUri, signatureAlgorithmOfUri } from './algorithm-uris.ts';
import type { ReferencedData } from './references.ts';
import { readCanonicalisation, readTransforms, type Transform } from './transforms.ts';

/** A Reference of a signature (XML Signature §4.4.3). */
export interface ReadReference extends ReferencedData {
  readonly id: string | undefined;
  readonly type: string | undefined;
  /** Undefined if the algorithm is unknown. */
  readonly hash: HashName | undefined;
  /** The algorithm as the document names it. */
  readonly digestMethod: string;
  readonly digest: Uint8Array;
}

/** A signature as it stands in a document. Its parts are elements of that document. */
export interface ReadSignature {
  readonly element: XmlNode;
  readonly id: string | undefined;
  readonly signedInfo: XmlNode;
  /** Undefined if the algorithm is unknown. */
  readonly signedInfoCanonicalisation: (Transform & { kind: 'CANONICAL' }) | undefined;
  /** Undefined if the algorithm is unknown. */
  readonly algorithm: SignatureAlgorithm | undefined;
  readonly references: readonly ReadReference[];
  readonly signatureValue: XmlNode;
  /** ECDSA: r‖s. */
  readonly value: Uint8Array;
  readonly keyInfo: XmlNode | undefined;
  /** Certificates of X509Data, DER, not read. */
  readonly certificates: readonly Uint8Array[];
  readonly objects: readonly XmlNode[];
}

/**
 * Reads a signature, whatever the name of its element.
 * @throws {XmlFault} if a required part is missing
 */
export function readSignature(document: XmlDocument, element: XmlNode): ReadSignature {
  const signedInfo = required(document, element, 'SignedInfo');
  const signatureValue = required(document, element, 'SignatureValue');
  const keyInfo = document.child(element, dsNamespace, 'KeyInfo');
  return {
    element,
    id: document.attribute(element, 'Id'),
    signedInfo,
    signedInfoCanonicalisation: readCanonicalisation(document, required(document, signedInfo, 'CanonicalizationMethod')),
    algorithm: readMethod(document, required(document, signedInfo, 'SignatureMethod')),
    references: document
      .children(signedInfo)
      .filter((child) => document.is(child, dsNamespace, 'Reference'))
      .map((reference) => readReference(document, reference)),
    signatureValue,
    value: base64Of(document, signatureValue),
    keyInfo,
    certificates: keyInfo === undefined ? [] : certificatesIn(document, keyInfo),
    objects: document.children(element).filter((child) => document.is(child, dsNamespace, 'Object')),
  };
}

/** Reads a Reference, of a SignedInfo or a Manifest. @throws {XmlFault} */
export function readReference(document: XmlDocument, reference: XmlNode): ReadReference {
  const digestMethod = document.attribute(required(document, reference, 'DigestMethod'), 'Algorithm') ?? '';
  return {
    id: document.attribute(reference, 'Id'),
    type: document.attribute(reference, 'Type'),
    uri: document.attribute(reference, 'URI'),
    transforms: readTransforms(document, reference),
    hash: hashOfUri(digestMethod),
    digestMethod,
    digest: base64Of(document, required(document, reference, 'DigestValue')),
  };
}

/**
 * Decodes the base64 that an element contains, in which white space is allowed (XML Schema,
 * base64Binary).
 */
export function base64Of(document: XmlDocument, element: XmlNode): Buffer {
  return Buffer.from(document.text(element), 'base64');
}

/** Reads a SignatureMethod. One with parameters is unknown. */
function readMethod(document: XmlDocument, method: XmlNode): SignatureAlgorithm | undefined {
  return document.children(method).length > 0 ? undefined : signatureAlgorithmOfUri(document.attribute(method, 'Algorithm') ?? '');
}

function certificatesIn(document: XmlDocument, keyInfo: XmlNode): Buffer[] {
  return document
    .children(keyInfo)
    .filter((child) => document.is(child, dsNamespace, 'X509Data'))
    .flatMap((data) => document.children(data))
    .filter((child) => document.is(child, dsNamespace, 'X509Certificate'))
    .map((certificate) => base64Of(document, certificate));
}

function required(document: XmlDocument, parent: XmlNode, localName: string): XmlNode {
  const child = document.child(parent, dsNamespace, localName);
  if (child === undefined) throw new XmlFault(`a signature lacks the element ${localName}`);
  return child;
}
