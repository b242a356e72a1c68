import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import { element, piecesOf, type Layout } from './layout.ts';
import type { Content } from '../../documents/content.ts';
import type { ParsedCertificate } from '../../certificates/x509.ts';
import type { SignatureAlgorithm } from '../../token/signature-algorithm.ts';
import { hashAlgorithmIdentifier, signatureAlgorithmIdentifier } from '../algorithm-identifier.ts';

export interface SignedDataParts {
  readonly algorithm: SignatureAlgorithm;
  /** The encapsulated content; absent where the signature is detached. */
  readonly content: Content | undefined;
  readonly signer: ParsedCertificate;
  readonly issuers: readonly Uint8Array[];
  /** Attributes in DER. */
  readonly signedAttributes: readonly Uint8Array[];
  readonly signatureValue: Uint8Array;
}

/**
 * ContentInfo with SignedData of one signer (RFC 5652 §3, §5), DER throughout, in pieces: encapsulated content stays where it is, and its length is known. The
 * root is left out: who verifies has it.
 */
export function signedData(parts: SignedDataParts): Content[] {
  const { content } = parts;
  const encapsulated: Layout = [der.oid(oids.data), ...(content === undefined ? [] : [element(0xa0, [element(0x04, [content])])])];
  const certificates = der.setOf([parts.signer.der, ...parts.issuers]);
  const body = [
    der.integer(1),
    der.set(hashAlgorithmIdentifier(parts.algorithm.hash)),
    element(0x30, encapsulated),
    der.implicitConstructed(0, contentOf(certificates)),
    der.set(signerInfo(parts)),
  ];
  return piecesOf(element(0x30, [der.oid(oids.signedData), element(0xa0, [element(0x30, body)])]));
}

/** SignerInfo version 1: the signer by issuer and serial number (RFC 5652 §5.3). */
function signerInfo(parts: SignedDataParts): Uint8Array {
  const { signer, algorithm } = parts;
  return der.sequence(
    der.integer(1),
    der.sequence(signer.issuer, der.tagged(0x02, signer.serialNumber)),
    hashAlgorithmIdentifier(algorithm.hash),
    der.implicitConstructed(0, contentOf(der.setOf([...parts.signedAttributes]))),
    signatureAlgorithmIdentifier(algorithm),
    der.octetString(parts.signatureValue),
  );
}

/** The content octets of one DER element: an IMPLICIT tag takes the place of its own. */
function contentOf(element: Uint8Array): Uint8Array {
  const first = element[1] ?? 0;
  return element.subarray(first < 0x80 ? 2 : 2 + (first & 0x7f));
}
