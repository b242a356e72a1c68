import { createHash } from 'node:crypto';
import type { HashName } from '../../token/signature-algorithm.ts';
import type { XmlNode } from '../../xml/engine.ts';
import type { XmlDocument } from '../../xml/xml-document.ts';
import { dsNamespace, hashOfUri } from '../../xmldsig/algorithm-uris.ts';
import { base64Of, type ReadSignature } from '../../xmldsig/read-signature.ts';
import { xadesVersions } from './xades-version.ts';

/** Those of all versions. */
export const xadesNamespaces: ReadonlySet<string | undefined> = new Set(Object.values(xadesVersions).map(({ namespace }) => namespace));

/** A certificate that a signature names by its digest. */
export interface BoundCertificate {
  isOf(certificateDer: Uint8Array): boolean;
}

/** Returns the QualifyingProperties of a signature; undefined if it has none. */
export function qualifyingPropertiesIn(document: XmlDocument, signature: ReadSignature): XmlNode | undefined {
  return allQualifyingPropertiesIn(document, signature)[0];
}

function allQualifyingPropertiesIn(document: XmlDocument, { objects }: ReadSignature): XmlNode[] {
  return objects.flatMap((object) => document.children(object)).filter((one) => isXades(document, one, 'QualifyingProperties'));
}

function allSignedPropertiesIn(document: XmlDocument, signature: ReadSignature): XmlNode[] {
  return allQualifyingPropertiesIn(document, signature)
    .flatMap((one) => document.children(one))
    .filter((one) => isXades(document, one, 'SignedProperties'));
}

/**
 * Whether a reference is to signed properties that are not where those of the signature belong
 * (EN 319 132-1 §4.4.2): nobody would find the certificate that they bind. `apex`: what it selects;
 * undefined: the document.
 */
export function isStrayProperties(
  document: XmlDocument,
  signature: ReadSignature,
  { type, apex }: { readonly type: string | undefined; readonly apex: XmlNode | undefined },
): boolean {
  const isOfProperties =
    type?.endsWith('#SignedProperties') === true || (apex !== undefined && isXades(document, apex, 'SignedProperties'));
  return isOfProperties && (apex === undefined || !allSignedPropertiesIn(document, signature).includes(apex));
}

/**
 * Returns what is wrong with the properties of a signature whose references hold, as the end of a
 * sentence; undefined if nothing is. An Object is signed only by a reference to it: whoever has a
 * signature can add properties that bind another certificate of the same key. A signature has one
 * QualifyingProperties, and signs all its SignedProperties (TS 101 903 §6.3).
 */
export function propertiesFault(document: XmlDocument, signature: ReadSignature): string | undefined {
  const all = allQualifyingPropertiesIn(document, signature);
  if (all.length > 1) return 'has several QualifyingProperties';
  const signed = new Set(signature.references.map(({ uri }) => uri));
  const isSigned = (properties: XmlNode): boolean => {
    const id = document.attribute(properties, 'Id')?.trim() ?? '';
    return [`#${id}`, `#xpointer(id('${id}'))`, `#xpointer(id("${id}"))`].some((uri) => signed.has(uri));
  };
  return allSignedPropertiesIn(document, signature).every(isSigned) ? undefined : 'has SignedProperties that it does not sign';
}

/** Returns the SignedProperties of a signature; undefined if it has none. */
export function signedPropertiesIn(document: XmlDocument, signature: ReadSignature): XmlNode | undefined {
  const qualifying = qualifyingPropertiesIn(document, signature);
  return qualifying === undefined ? undefined : childOf(document, qualifying, 'SignedProperties');
}

/** Returns a property directly within an element, in the namespace of any version. */
export function childOf(document: XmlDocument, parent: XmlNode, name: string): XmlNode | undefined {
  return document.children(parent).find((one) => isXades(document, one, name));
}

/**
 * Returns the certificate that the signed properties bind: the first of SigningCertificateV2 or
 * SigningCertificate.
 */
export function boundCertificate(document: XmlDocument, signedProperties: XmlNode): BoundCertificate | undefined {
  const ofSignature = childOf(document, signedProperties, 'SignedSignatureProperties');
  if (ofSignature === undefined) return undefined;
  const list = childOf(document, ofSignature, 'SigningCertificateV2') ?? childOf(document, ofSignature, 'SigningCertificate');
  const certificate = list === undefined ? undefined : childOf(document, list, 'Cert');
  const digest = certificate === undefined ? undefined : childOf(document, certificate, 'CertDigest');
  if (digest === undefined) return undefined;
  const part = (name: string): XmlNode | undefined => document.child(digest, dsNamespace, name) ?? childOf(document, digest, name);
  const [method, value] = [part('DigestMethod'), part('DigestValue')];
  const hash: HashName | undefined = method === undefined ? undefined : hashOfUri(document.attribute(method, 'Algorithm') ?? '');
  if (hash === undefined || value === undefined) return undefined;
  const expected = base64Of(document, value);
  return { isOf: (certificateDer) => createHash(hash).update(certificateDer).digest().equals(expected) };
}

function isXades(document: XmlDocument, element: XmlNode, localName: string): boolean {
  return document.localName(element) === localName && xadesNamespaces.has(document.namespace(element));
}

/** Returns the unsigned properties of a signature, in the order of the document. */
export function unsignedPropertiesIn(document: XmlDocument, signature: ReadSignature): XmlNode[] {
  const qualifying = qualifyingPropertiesIn(document, signature);
  const unsigned = qualifying === undefined ? undefined : childOf(document, qualifying, 'UnsignedProperties');
  const ofSignature = unsigned === undefined ? undefined : childOf(document, unsigned, 'UnsignedSignatureProperties');
  return ofSignature === undefined ? [] : document.children(ofSignature);
}

/** Returns the DER in all elements of a name within a property. */
export function encapsulatedIn(document: XmlDocument, property: XmlNode, name: string): Buffer[] {
  return Array.from(document.elements(property))
    .filter((one) => isXades(document, one, name))
    .map((one) => base64Of(document, one));
}
