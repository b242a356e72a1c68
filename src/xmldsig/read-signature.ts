import type { HashName, SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { XmlNode } from '../xml/engine.ts';
import type { XmlDocument } from '../xml/xml-document.ts';
import { quoted, XmlFault } from '../xml/xml-fault.ts';
import { dsNamespace, hashOfUri, signatureAlgorithmOfUri } from './algorithm-uris.ts';
import type { ReferencedData } from './references.ts';
import { readCanonicalisation, readTransforms, type Transform } from './transforms.ts';

/** A Reference of a signature (XML Signature §4.4.3). */
export interface ReadReference extends ReferencedData {
  readonly id: string | undefined;
  readonly type: string | undefined;
  /** Undefined if the algorithm is unknown. */
  readonly hash: HashName | undefined;
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

/** Elements of XML Signature that an element contains, in this order (its schema, §4). */
const contents = {
  signature: [{ name: 'SignedInfo' }, { name: 'SignatureValue' }, { name: 'KeyInfo', min: 0 }, { name: 'Object', min: 0, isList: true }],
  signedInfo: [{ name: 'CanonicalizationMethod' }, { name: 'SignatureMethod' }, { name: 'Reference', isList: true }],
  reference: [{ name: 'Transforms', min: 0 }, { name: 'DigestMethod' }, { name: 'DigestValue' }],
} as const satisfies Record<string, readonly Particle[]>;

interface Particle {
  readonly name: string;
  /** Default: 1. */
  readonly min?: 0;
  /** Whether there may be several. */
  readonly isList?: true;
}

/**
 * Reads a signature, whatever the name of its element.
 * @throws {XmlFault} if it does not consist of the parts that its schema names: readers that find
 * two of one kind differ in which they take
 */
export function readSignature(document: XmlDocument, element: XmlNode): ReadSignature {
  checkContents(document, element, contents.signature);
  const signedInfo = required(document, element, 'SignedInfo');
  checkContents(document, signedInfo, contents.signedInfo);
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
  checkContents(document, reference, contents.reference);
  const method = required(document, reference, 'DigestMethod');
  return {
    id: document.attribute(reference, 'Id'),
    type: document.attribute(reference, 'Type'),
    uri: document.attribute(reference, 'URI'),
    transforms: readTransforms(document, reference),
    hash: hashOfUri(document.attribute(method, 'Algorithm') ?? ''),
    digest: base64Of(document, required(document, reference, 'DigestValue')),
  };
}

/**
 * Decodes the base64 that an element contains, in which white space is allowed (XML Schema,
 * base64Binary).
 * @throws {XmlFault} if it is something else
 */
export function base64Of(document: XmlDocument, element: XmlNode): Buffer {
  const text = document.text(element).replaceAll(/[ \t\r\n]/g, '');
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) throw new XmlFault('a signature contains text that is not base64');
  return Buffer.from(text, 'base64');
}

/** @throws {XmlFault} */
function checkContents(document: XmlDocument, element: XmlNode, particles: readonly Particle[]): void {
  const children = document.children(element);
  let at = 0;
  for (const { name, min = 1, isList = false } of particles) {
    const start = at;
    const end = Math.min(children.length, isList ? children.length : start + 1);
    while (at < end && isNamed(document, children[at], name)) at += 1;
    if (at - start < min) throw new XmlFault(`a signature lacks the element ${name} in its place`);
  }
  const [other] = children.slice(at);
  if (other !== undefined) throw new XmlFault(`a signature has the element ${quoted(document.localName(other))} in the wrong place`);
}

function isNamed(document: XmlDocument, element: XmlNode | undefined, name: string): boolean {
  return element !== undefined && document.is(element, dsNamespace, name);
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
