import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import type { Certificate } from '../x509/certificate.ts';
import type { Content } from '../documents/content.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import { hashAlgorithmIdentifier, signatureAlgorithmIdentifier } from './algorithm-identifier.ts';
import { element, piecesOf } from './layout.ts';

export interface SignedDataParts {
  /** Elements of SETs, as they are to stand there. */
  readonly digestAlgorithms: readonly Uint8Array[];
  readonly contentType: string;
  /** The encapsulated content; undefined where the signature is detached. */
  readonly content: readonly Content[] | undefined;
  readonly certificates: readonly Uint8Array[];
  readonly revocationData: readonly Uint8Array[];
  readonly signerInfos: readonly Uint8Array[];
}

/** ContentInfo with SignedData (RFC 5652 §3, §5.1), DER around its parts, in pieces: content stays where it is, and its length is known. */
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

/** RFC 5652 §5.1: by the kinds of certificates and revocation data, the versions of the SignerInfos, and the type of the content. */
function versionOf({ certificates, revocationData, signerInfos, contentType }: SignedDataParts): number {
  const tags = new Set(certificates.map(([tag]) => tag));
  if (tags.has(0xa3) || revocationData.some(([tag]) => tag === 0xa1)) return 5;
  if (tags.has(0xa2)) return 4;
  return tags.has(0xa1) || contentType !== oids.data || signerInfos.some(isOfVersion3) ? 3 : 1;
}

/** A SignerInfo that names its signer by a key identifier has version 3; it begins with its version, behind a header of up to 10 octets. */
function isOfVersion3(bytes: Uint8Array): boolean {
  const first = bytes[1] ?? 0;
  const start = first <= 0x80 ? 2 : 2 + (first & 0x7f);
  return bytes[start + 2] === 3;
}

/** A SET OF with further elements: in the order that it has where there is nothing to add, else as DER has it (X.690 11.6). */
export function setWith(elements: readonly Uint8Array[], more: readonly Uint8Array[]): readonly Uint8Array[] {
  const added = more.filter((one) => !elements.some((other) => Buffer.compare(one, other) === 0));
  return added.length === 0 ? elements : inOrder([...elements, ...added]);
}

/** As DER has the elements of a SET OF; two may be equal, as two signatures of one second by one RSA key are. */
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

/** SignerInfo version 1: the signer by issuer and serial number (RFC 5652 §5.3). */
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
