import type { KeyObject } from 'node:crypto';
import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { readPublicKey } from '../verification/public-key.ts';
import { dataVerifies } from '../verification/verify-value.ts';

/** The algorithms that authorities sign with: RFC 4055 §5 (parameters NULL), RFC 5758 §3.2 (no parameters). */
const algorithms = {
  sha256WithRSAEncryption: {
    scheme: 'RSA_PKCS1',
    hash: 'sha256',
    identifier: der.sequence(der.oid(oids.sha256WithRSAEncryption), der.nullValue()),
  },
  ecdsaWithSHA256: { scheme: 'ECDSA', hash: 'sha256', identifier: der.sequence(der.oid(oids.ecdsaWithSHA256)) },
  ecdsaWithSHA384: { scheme: 'ECDSA', hash: 'sha384', identifier: der.sequence(der.oid(oids.ecdsaWithSHA384)) },
} as const;

export type CertificateSignatureAlgorithm = keyof typeof algorithms;

/** Whoever signs a certificate: name and public key as they stand in its own certificate, and the private key behind a function. */
export interface CertificateSigner {
  /** DER of the Name. */
  readonly name: Uint8Array;
  readonly subjectPublicKeyInfo: Uint8Array;
  readonly signatureAlgorithm: CertificateSignatureAlgorithm;
  /** Answers the value as it goes into the BIT STRING; ECDSA in DER (RFC 5480 appendix A). */
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
  /** Random octets, taken as an unsigned number: at most 20 octets as an INTEGER, and not zero (RFC 5280 4.1.2.2). */
  readonly serialNumber: Uint8Array;
}

/**
 * Makes and signs a certificate of version 3 (RFC 5280 §4.1), and verifies what it made under the signer's public key.
 * @throws {RangeError} for a serial number or validity that no certificate may have.
 * @throws {Error} when the signature does not verify.
 */
export async function signedCertificate(signer: CertificateSigner, content: CertificateContent): Promise<Uint8Array> {
  return signedStructure(signer, toBeSigned(signer, content));
}

/**
 * SIGNED{} (RFC 5280 §4.1.1): what is to be signed, the algorithm, the value, which is verified under the signer's public key. It serves certificates,
 * CRLs and OCSP answers, which have `after` it. @throws {Error} when the signature does not verify.
 */
export async function signedStructure(
  signer: Omit<CertificateSigner, 'name'>,
  tbs: Uint8Array,
  ...after: readonly Uint8Array[]
): Promise<Uint8Array> {
  const { identifier, ...algorithm } = algorithms[signer.signatureAlgorithm];
  const value = await signer.sign(tbs);
  if (!dataVerifies(publicKeyOf(signer), algorithm, tbs, value))
    throw new Error("the new signature does not verify under the issuer's key");
  return der.sequence(tbs, identifier, der.bitString(value), ...after);
}

/** Reading a key costs as much as verifying with it, and a signer signs often. */
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

/** TBSCertificate (RFC 5280 §4.1.2). @throws {RangeError} for a serial number or validity that no certificate may have. */
export function toBeSigned(
  { name, signatureAlgorithm }: Pick<CertificateSigner, 'name' | 'signatureAlgorithm'>,
  content: CertificateContent,
): Uint8Array {
  const { subject, subjectPublicKeyInfo, extensions, notBefore, notAfter } = content;
  if (notAfter <= notBefore) throw new RangeError('a certificate ends after it begins');
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
    throw new RangeError('a serial number is positive and has at most 20 octets');
  return number;
}
