import { createHash } from 'node:crypto';
import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';
import type { Certificate } from '../../x509/certificate.ts';
import type { HashName } from '../../token/signature-algorithm.ts';
import { hashAlgorithmIdentifier } from '../../cms/algorithm-identifier.ts';
import type { SignedProperties } from '../request/signed-properties.ts';
import { commitmentTypeIndication, signaturePolicy, signerAttributes, signerLocation } from './property-values.ts';

export interface SignedAttributes {
  readonly contentType: string;
  readonly contentDigest: Uint8Array;
  readonly certificate: Certificate;
  readonly hash: HashName;
  readonly now: Date;
  readonly properties: SignedProperties;
}

/**
 * Returns the signed attributes of CAdES baseline B (EN 319 122-1 §6.3): content-type,
 * message-digest, signing-certificate-v2, signing-time unless the caller excludes it, and any
 * others that the properties require. Each is an Attribute in DER; the signature is over a SET OF
 * them (RFC 5652 §5.4).
 */
export function signedAttributes({ contentType, contentDigest, certificate, hash, now, properties }: SignedAttributes): Uint8Array[] {
  const { signingTime, commitments, commitmentText, policy, place, claimedRoles } = properties;
  const [commitment = commitmentText === undefined ? undefined : 'APPROVAL', ...others] = commitments;
  if (others.length > 0) throw new RangeError('a CMS signature holds one commitment');
  return [
    attribute(oids.contentType, der.oid(contentType)),
    attribute(oids.messageDigest, der.octetString(contentDigest)),
    attribute(oids.signingCertificateV2, signingCertificateV2(certificate, hash)),
    ...(signingTime === 'NONE' ? [] : [attribute(oids.signingTime, der.time(signingTime === 'SYSTEM' ? now : signingTime))]),
    ...(commitment === undefined ? [] : [attribute(oids.commitmentType, commitmentTypeIndication(commitment, commitmentText))]),
    ...(policy === 'NONE' ? [] : [attribute(oids.signaturePolicy, signaturePolicy(policy))]),
    ...(place === undefined ? [] : [attribute(oids.signerLocation, signerLocation(place))]),
    ...(claimedRoles.length === 0 ? [] : [attribute(oids.signerAttributesV2, signerAttributes(claimedRoles))]),
  ];
}

/** Returns an Attribute with one value. */
function attribute(type: string, value: Uint8Array): Uint8Array {
  return der.sequence(der.oid(type), der.set(value));
}

/**
 * Returns SigningCertificateV2 (RFC 5035 §3) with one ESSCertIDv2; SHA-256 is the default and
 * therefore omitted in DER.
 */
function signingCertificateV2(certificate: Certificate, hash: HashName): Uint8Array {
  // A baseline signature may not use SHA-1 in signing-certificate-v2, so SHA-256 replaces it.
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
