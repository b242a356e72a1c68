import { generateKeyPairSync } from 'node:crypto';
import type { KeyType } from '../config/key-types.ts';
import type { CertificateProfile, PublicationUrls } from '../config/profile.ts';
import { Refusal } from '../result-codes.ts';
import { lintCertificate, lintResponderCertificate } from './lint/lint.ts';
import { signedCertificate, signedStructure, toBeSigned, type CertificateContent, type CertificateSigner } from './signed-certificate.ts';
import type { Certificate } from '../x509/certificate.ts';
import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';

/** A certification authority that is ready to sign. */
export interface CertificateIssuer extends Pick<CertificateSigner, 'signatureAlgorithm' | 'sign'> {
  readonly certificate: Certificate;
  /** In DER, from the issuing authority itself upwards. */
  readonly chain: readonly Uint8Array[];
  /** Other chains, through other certificates of this authority or of those above it. */
  readonly otherChains?: readonly (readonly Uint8Array[])[];
  /** URLs of its CRL, its OCSP responder and its own certificate. */
  readonly urls?: PublicationUrls;
}

/** The parts of an authority that its certificates show. */
export type RehearsingIssuer = Pick<CertificateIssuer, 'certificate' | 'signatureAlgorithm' | 'urls'>;

/**
 * Issues a certificate (RFC 5280 §4.1) to an end entity: lints it, signs it, verifies the signature
 * and returns the DER.
 * @throws {Refusal} ISSUANCE_REFUSED if it breaks a rule; nothing is signed then.
 * @throws {RangeError} for an invalid serial number or validity, or one that outlasts the issuer.
 * @throws {Error} if the signature does not verify.
 */
export async function issueCertificate(issuer: CertificateIssuer, content: CertificateContent): Promise<Uint8Array> {
  checkLifetime(issuer, content);
  const signer = signerOf(issuer);
  const tbs = toBeSigned(signer, content);
  lintCertificate(tbs, issuer.certificate);
  return signedStructure(signer, tbs);
}

/** Does the same for a delegated OCSP responder (RFC 6960 4.2.2.2). */
export async function issueResponderCertificate(issuer: CertificateIssuer, content: CertificateContent): Promise<Uint8Array> {
  checkLifetime(issuer, content);
  const signer = signerOf(issuer);
  const tbs = toBeSigned(signer, content);
  lintResponderCertificate(tbs, issuer.certificate);
  return signedStructure(signer, tbs);
}

/**
 * Lints the certificate that would be issued, with a placeholder key and a serial number of the
 * final length, so that no key is created on the token for a certificate that cannot be issued.
 * @throws {Refusal} ISSUANCE_REFUSED
 */
export function rehearse(
  issuer: RehearsingIssuer,
  keyType: KeyType,
  content: (subjectPublicKeyInfo: Uint8Array) => Omit<CertificateContent, 'subjectPublicKeyInfo' | 'serialNumber'>,
): void {
  const subjectPublicKeyInfo = placeholderKey(keyType);
  const tbs = toBeSigned(
    { name: issuer.certificate.subject, signatureAlgorithm: issuer.signatureAlgorithm },
    { ...content(subjectPublicKeyInfo), subjectPublicKeyInfo, serialNumber: longestSerialNumber },
  );
  lintCertificate(tbs, issuer.certificate);
}

/**
 * Issues the certificate of a subordinate authority. Throws the same errors as `issueCertificate`;
 * the lint rules for end entities do not apply.
 */
export async function issueAuthorityCertificate(issuer: CertificateIssuer, content: CertificateContent): Promise<Uint8Array> {
  checkLifetime(issuer, content);
  return signedCertificate(signerOf(issuer), content);
}

const longestSerialNumber = new Uint8Array(16).fill(0xff);

function checkLifetime({ certificate }: CertificateIssuer, { notAfter }: CertificateContent): void {
  if (notAfter > certificate.notAfter) throw new RangeError('the certificate would outlast its issuer');
}

function signerOf(issuer: CertificateIssuer): CertificateSigner {
  return {
    name: issuer.certificate.subject,
    subjectPublicKeyInfo: issuer.certificate.subjectPublicKeyInfo,
    signatureAlgorithm: issuer.signatureAlgorithm,
    sign: (tbs) => issuer.sign(tbs),
  };
}

/**
 * Returns the validity of a certificate requested now, in whole seconds: the requested minutes (or
 * the profile's default), limited by the profile's maximum and the issuer's notAfter (contract §7).
 * @throws {Refusal} ISSUANCE_REFUSED if the issuer's certificate has expired.
 */
export function validity(
  profile: Pick<CertificateProfile, 'defaultValidityMinutes' | 'maxValidityMinutes'>,
  requestedMinutes: number | undefined,
  now: Date,
  issuerNotAfter: Date,
): { notBefore: Date; notAfter: Date } {
  const start = Math.floor(now.getTime() / 1000) * 1000;
  const minutes = Math.min(requestedMinutes ?? profile.defaultValidityMinutes, profile.maxValidityMinutes);
  const end = Math.min(start + minutes * 60_000, issuerNotAfter.getTime());
  if (end <= start) throw new Refusal('ISSUANCE_REFUSED', { message: 'the certificate of the issuing authority has expired' });
  return { notBefore: new Date(start), notAfter: new Date(end) };
}

const made = new Map<KeyType, Uint8Array>();

/**
 * Returns a public key (SubjectPublicKeyInfo, DER) of the type, for a certificate that is never
 * signed. An EC private key is discarded at once; an RSA key, which would take a second to
 * generate, never has one.
 */
export function placeholderKey(type: KeyType): Uint8Array {
  const known = made.get(type);
  if (known !== undefined) return known;
  const key = type.startsWith('RSA-') ? rsaKey(Number(type.slice('RSA-'.length))) : curveKey(type);
  made.set(type, key);
  return key;
}

function curveKey(namedCurve: string): Uint8Array {
  return generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'der', type: 'spki' });
}

function rsaKey(bits: number): Uint8Array {
  const modulus = new Uint8Array(bits / 8).fill(0xff);
  const key = der.sequence(der.integer(modulus), der.integer(65_537));
  return der.sequence(der.sequence(der.oid(oids.rsaEncryption), der.nullValue()), der.bitString(key));
}
