import type { CertificateProfile, KeyType, PublicationUrls } from '../config/profile.ts';
import { Refusal } from '../result-codes.ts';
import { lintCertificate, lintResponderCertificate } from './lint/lint.ts';
import { placeholderKey } from './placeholder-key.ts';
import { signedCertificate, signedStructure, toBeSigned, type CertificateContent, type CertificateSigner } from './signed-certificate.ts';
import type { Certificate } from '../x509/certificate.ts';

/** A certification authority that can sign now. */
export interface CertificateIssuer extends Pick<CertificateSigner, 'signatureAlgorithm' | 'sign'> {
  readonly certificate: Certificate;
  /** DER, from the issuing authority upwards, itself included. */
  readonly chain: readonly Uint8Array[];
  /** The same over other certificates of it, or of those above it. */
  readonly otherChains?: readonly (readonly Uint8Array[])[];
  /** Where its certificates' status and its own certificate are published. */
  readonly urls?: PublicationUrls;
}

/** What of an authority a certificate shows. */
export type RehearsingIssuer = Pick<CertificateIssuer, 'certificate' | 'signatureAlgorithm' | 'urls'>;

/**
 * Issues a certificate (RFC 5280 §4.1) to an end entity: lints it, signs it, and verifies it under the issuer's public key before it answers the DER.
 * @throws {Refusal} ISSUANCE_REFUSED for what breaks a rule; nothing is signed then.
 * @throws {RangeError} for a serial number or validity that no certificate may have, or one beyond the issuer's own end.
 * @throws {Error} when the signature does not verify.
 */
export async function issueCertificate(issuer: CertificateIssuer, content: CertificateContent): Promise<Uint8Array> {
  checkLifetime(issuer, content);
  const signer = signerOf(issuer);
  const tbs = toBeSigned(signer, content);
  lintCertificate(tbs, issuer.certificate);
  return signedStructure(signer, tbs);
}

/** The same for a delegated OCSP responder (RFC 6960 4.2.2.2). */
export async function issueResponderCertificate(issuer: CertificateIssuer, content: CertificateContent): Promise<Uint8Array> {
  checkLifetime(issuer, content);
  const signer = signerOf(issuer);
  const tbs = toBeSigned(signer, content);
  lintResponderCertificate(tbs, issuer.certificate);
  return signedStructure(signer, tbs);
}

/**
 * Lints the certificate that would be issued, with a key of the type that nobody has and a serial number of the length that it will have: what
 * cannot be issued costs no key on the token. @throws {Refusal} ISSUANCE_REFUSED
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

/** The certificate of an authority under this one. Errors as of `issueCertificate`; the rules of end entities do not apply. */
export async function issueAuthorityCertificate(issuer: CertificateIssuer, content: CertificateContent): Promise<Uint8Array> {
  checkLifetime(issuer, content);
  return signedCertificate(signerOf(issuer), content);
}

const longestSerialNumber = new Uint8Array(16).fill(0xff);

function checkLifetime({ certificate }: CertificateIssuer, { notAfter }: CertificateContent): void {
  if (notAfter > certificate.notAfter) throw new RangeError('a certificate does not outlive its issuer');
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
 * The validity of a certificate asked for now, in whole seconds: the minutes requested (or the profile's default), cut to the profile's
 * maximum and to the issuer's own end (contract §7).
 * @throws {Refusal} ISSUANCE_REFUSED when the issuer's certificate has ended.
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
  if (end <= start) throw new Refusal('ISSUANCE_REFUSED', { message: 'the certificate of the issuing authority has ended' });
  return { notBefore: new Date(start), notAfter: new Date(end) };
}
