import { createHash } from 'node:crypto';
import type { HashName } from '../../token/signature-algorithm.ts';
import type { XmlNode } from '../../xml/engine.ts';
import type { XmlDocument } from '../../xml/xml-document.ts';
import { dsNamespace, hashOfUri } from '../../xmldsig/algorithm-uris.ts';
import { base64Of, type ReadSignature } from '../../xmldsig/read-signature.ts';
import { xadesVersions } from './xades-version.ts';

const namespaces: ReadonlySet<string | undefined> = new Set(Object.values(xadesVersions).map(({ namespace }) => namespace));

/** A certificate that a signature names by its digest. */
export interface BoundCertificate {
  isOf(certificateDer: Uint8Array): boolean;
}

/** Returns the QualifyingProperties of a signature; undefined if it has none. */
export function qualifyingPropertiesIn(document: XmlDocument, { objects }: ReadSignature): XmlNode | undefined {
  return objects.flatMap((object) => document.children(object)).find((one) => isXades(document, one, 'QualifyingProperties'));
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
  return document.localName(element) === localName && namespaces.has(document.namespace(element));
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
