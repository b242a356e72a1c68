import type { KeyObject } from 'node:crypto';
import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { Fault } from '../faults.ts';
import { readPublicKey } from '../verification/public-key.ts';
import { dataVerifies } from '../verification/verify-value.ts';

/**
 * Signature algorithms of authorities: RFC 4055 §5 (parameters NULL), RFC 5758 §3.2 (no
 * parameters).
 */
const algorithms = {
  sha256WithRSAEncryption: {
    scheme: 'RSA_PKCS1',
    hash: 'sha256',
    identifier: der.sequence(der.oid(oids.sha256WithRSAEncryption), der.nullValue()),
  },
  ecdsaWithSHA256: { scheme: 'ECDSA', hash: 'sha256', identifier: der.sequence(der.oid(oids.ecdsaWithSHA256)) },
  ecdsaWithSHA512: { scheme: 'ECDSA', hash: 'sha512', identifier: der.sequence(der.oid(oids.ecdsaWithSHA512)) },
  ecdsaWithSHA384: { scheme: 'ECDSA', hash: 'sha384', identifier: der.sequence(der.oid(oids.ecdsaWithSHA384)) },
} as const;

export type CertificateSignatureAlgorithm = keyof typeof algorithms;

/**
 * Signer of a certificate: name and public key as in its own certificate, and a function that uses
 * the private key.
 */
export interface CertificateSigner {
  /** DER of the Name. */
  readonly name: Uint8Array;
  readonly subjectPublicKeyInfo: Uint8Array;
  readonly signatureAlgorithm: CertificateSignatureAlgorithm;
  /** Returns the value for the BIT STRING; ECDSA in DER (RFC 5480 appendix A). */
  sign(tbs: Uint8Array): Promise<Uint8Array>;
}

export interface CertificateContent {
  /** DER of the Name. */
  readonly subject: Uint8Array;
  readonly subjectPublicKeyInfo: Uint8Array;
  /** Each an Extension in DER. */
  readonly extensions: readonly Uint8Array[];
  readonly notBefore: Date;
  readonly notAfter: Date;
  /**
   * Random octets, read as an unsigned number: not zero, at most 20 octets as an INTEGER (RFC 5280
   * 4.1.2.2).
   */
  readonly serialNumber: Uint8Array;
}

/**
 * Creates and signs a version 3 certificate (RFC 5280 §4.1), and verifies its signature.
 * @throws {RangeError} for an invalid serial number or validity.
 * @throws {Fault} WRONG_VALUE
 */
export async function signedCertificate(signer: CertificateSigner, content: CertificateContent): Promise<Uint8Array> {
  return signedStructure(signer, toBeSigned(signer, content));
}

/**
 * Returns SIGNED{} (RFC 5280 §4.1.1): to-be-signed bytes, algorithm and value, which is verified
 * first. For certificates, CRLs and OCSP responses; the last have `after` behind it.
 * @throws {Fault} WRONG_VALUE
 */
export async function signedStructure(
  signer: Omit<CertificateSigner, 'name'>,
  tbs: Uint8Array,
  ...after: readonly Uint8Array[]
): Promise<Uint8Array> {
  const { identifier, ...algorithm } = algorithms[signer.signatureAlgorithm];
  const value = await signer.sign(tbs);
  if (!dataVerifies(publicKeyOf(signer), algorithm, tbs, value))
    throw new Fault('WRONG_VALUE', { message: "the new signature does not verify under the issuer's key" });
  return der.sequence(tbs, identifier, der.bitString(value), ...after);
}

/** Cached, since parsing a key costs as much as verifying with it. */
const publicKeys = new WeakMap<Uint8Array, KeyObject>();

function publicKeyOf({ subjectPublicKeyInfo }: Pick<CertificateSigner, 'subjectPublicKeyInfo'>): KeyObject {
  const known = publicKeys.get(subjectPublicKeyInfo);
  if (known !== undefined) return known;
  const key = readPublicKey(subjectPublicKeyInfo);
  publicKeys.set(subjectPublicKeyInfo, key);
  return key;
}

/** AlgorithmIdentifier in DER. */
export function algorithmIdentifier(algorithm: CertificateSignatureAlgorithm): Uint8Array {
  return algorithms[algorithm].identifier;
}

/**
 * Returns a TBSCertificate (RFC 5280 §4.1.2).
 * @throws {RangeError} for an invalid serial number or validity
 */
export function toBeSigned(
  { name, signatureAlgorithm }: Pick<CertificateSigner, 'name' | 'signatureAlgorithm'>,
  content: CertificateContent,
): Uint8Array {
  const { subject, subjectPublicKeyInfo, extensions, notBefore, notAfter } = content;
  if (notAfter <= notBefore) throw new RangeError('notAfter must be later than notBefore');
  return der.sequence(
    der.explicit(0, der.integer(2)),
    serialNumber(content.serialNumber),
    algorithmIdentifier(signatureAlgorithm),
    name,
    der.sequence(der.time(notBefore), der.time(notAfter)),
    subject,
    subjectPublicKeyInfo,
    der.explicit(3, der.sequence(...extensions)),
  );
}

function serialNumber(octets: Uint8Array): Uint8Array {
  const number = der.integer(octets);
  const maxLength = 2 + 20;
  if (number.length > maxLength || octets.every((octet) => octet === 0))
    throw new RangeError('a serial number must be positive and have at most 20 octets');
  return number;
}
