import { createHash } from 'node:crypto';
import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import type { ParsedCertificate } from '../../certificates/x509.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import { hashAlgorithmIdentifier } from '../algorithm-identifier.ts';

export interface SignedAttributes {
  readonly contentDigest: Uint8Array;
  readonly certificate: ParsedCertificate;
  readonly hash: HashName;
  readonly signingTime: Date;
}

/**
 * The signed attributes of CAdES baseline B (EN 319 122-1 §6.3): content-type, message-digest, signing-time, signing-certificate-v2. Each is
 * an Attribute in DER; a SET OF them is what is signed (RFC 5652 §5.4).
 */
export function signedAttributes({ contentDigest, certificate, hash, signingTime }: SignedAttributes): Uint8Array[] {
  return [
    attribute(oids.contentType, der.oid(oids.data)),
    attribute(oids.messageDigest, der.octetString(contentDigest)),
    attribute(oids.signingTime, der.time(signingTime)),
    attribute(oids.signingCertificateV2, signingCertificateV2(certificate, hash)),
  ];
}

function attribute(type: string, value: Uint8Array): Uint8Array {
  return der.sequence(der.oid(type), der.set(value));
}

/** SigningCertificateV2 (RFC 5035 §3) with one ESSCertIDv2; SHA-256 is the default and left out, as DER wants. */
function signingCertificateV2(certificate: ParsedCertificate, hash: HashName): Uint8Array {
  // SHA-1 has no place in signing-certificate-v2 of a baseline signature: the certificate's hash stays SHA-256 then.
  const certificateHash = hash === 'sha1' ? 'sha256' : hash;
  const digest = createHash(certificateHash).update(certificate.der).digest();
  const issuer = der.sequence(der.explicit(4, certificate.issuer));
  const issuerSerial = der.sequence(issuer, der.tagged(0x02, certificate.serialNumber));
  const certificateId = der.sequence(
    ...(certificateHash === 'sha256' ? [] : [hashAlgorithmIdentifier(certificateHash)]),
    der.octetString(digest),
    issuerSerial,
  );
  return der.sequence(der.sequence(certificateId));
}
