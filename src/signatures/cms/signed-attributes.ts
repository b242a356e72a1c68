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
 * The signed attributes of CAdES baseline B (EN 319 122-1 §6.3): content-type, message-digest, signing-certificate-v2, signing-time unless the caller wants none,
 * and what else the properties ask for. Each is an Attribute in DER; a SET OF them is what is signed (RFC 5652 §5.4).
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

/** Each of these attributes has one value. */
function attribute(type: string, value: Uint8Array): Uint8Array {
  return der.sequence(der.oid(type), der.set(value));
}

/** SigningCertificateV2 (RFC 5035 §3) with one ESSCertIDv2; SHA-256 is the default and left out, as DER wants. */
function signingCertificateV2(certificate: Certificate, hash: HashName): Uint8Array {
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
