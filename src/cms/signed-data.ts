import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { Content } from '../documents/content.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import { hashAlgorithmIdentifier, signatureAlgorithmIdentifier } from './algorithm-identifier.ts';
import { element, piecesOf } from './layout.ts';

export interface SignedDataParts {
  /** Elements of the SETs, in the order to be written. */
  readonly digestAlgorithms: readonly Uint8Array[];
  readonly contentType: string;
  /** The encapsulated content; undefined if the signature is detached. */
  readonly content: readonly Content[] | undefined;
  readonly certificates: readonly Uint8Array[];
  readonly revocationData: readonly Uint8Array[];
  readonly signerInfos: readonly Uint8Array[];
}

/**
 * Returns a ContentInfo with SignedData (RFC 5652 §3, §5.1), DER around its parts, in pieces:
 * content of known length is not copied.
 */
export function signedData(parts: SignedDataParts): Content[] {
  const { content, certificates, revocationData } = parts;
  const encapsulated = [der.oid(parts.contentType), ...(content === undefined ? [] : [element(0xa0, [element(0x04, content)])])];
  const body = [
    der.integer(versionOf(parts)),
    der.set(...parts.digestAlgorithms),
    element(0x30, encapsulated),
    ...(certificates.length === 0 ? [] : [der.implicitConstructed(0, der.concat(...certificates))]),
    ...(revocationData.length === 0 ? [] : [der.implicitConstructed(1, der.concat(...revocationData))]),
    der.set(...parts.signerInfos),
  ];
  return piecesOf(element(0x30, [der.oid(oids.signedData), element(0xa0, [element(0x30, body)])]));
}

/**
 * Returns the version (RFC 5652 §5.1), which depends on the kinds of certificates and revocation
 * data, the versions of the SignerInfos, and the content type.
 */
function versionOf({ certificates, revocationData, signerInfos, contentType }: SignedDataParts): number {
  const tags = new Set(certificates.map(([tag]) => tag));
  if (tags.has(0xa3) || revocationData.some(([tag]) => tag === 0xa1)) return 5;
  if (tags.has(0xa2)) return 4;
  return tags.has(0xa1) || contentType !== oids.data || signerInfos.some(isOfVersion3) ? 3 : 1;
}

/**
 * Whether a SignerInfo has version 3 (signer by key identifier). The version follows a header of up
 * to 10 octets.
 */
function isOfVersion3(bytes: Uint8Array): boolean {
  const first = bytes[1] ?? 0;
  const start = first <= 0x80 ? 2 : 2 + (first & 0x7f);
  return bytes[start + 2] === 3;
}

/**
 * Adds elements to a SET OF: sorted as DER requires (X.690 11.6), or unchanged if there is nothing
 * to add.
 */
export function setWith(elements: readonly Uint8Array[], more: readonly Uint8Array[]): readonly Uint8Array[] {
  const added = more.filter((one) => !elements.some((other) => Buffer.compare(one, other) === 0));
  return added.length === 0 ? elements : inOrder([...elements, ...added]);
}

/**
 * Sorts the elements of a SET OF as DER requires. Two may be equal, like two signatures by one RSA
 * key in the same second.
 */
export function inOrder(elements: readonly Uint8Array[]): readonly Uint8Array[] {
  return elements.toSorted((left, right) => Buffer.compare(left, right));
}

export interface SignerInfoParts {
  readonly algorithm: SignatureAlgorithm;
  readonly signer: Certificate;
  /** Attributes in DER. */
  readonly signedAttributes: readonly Uint8Array[];
  readonly signatureValue: Uint8Array;
}

/**
 * Returns a version 1 SignerInfo, which names the signer by issuer and serial number (RFC 5652
 * §5.3).
 */
export function signerInfo({ algorithm, signer, signedAttributes, signatureValue }: SignerInfoParts): Uint8Array {
  return der.sequence(
    der.integer(1),
    der.sequence(signer.issuer, der.tagged(0x02, signer.serialNumber)),
    hashAlgorithmIdentifier(algorithm.hash),
    der.implicitConstructed(0, der.concat(...inOrder(signedAttributes))),
    signatureAlgorithmIdentifier(algorithm),
    der.octetString(signatureValue),
  );
}
