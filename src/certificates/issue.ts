import type { CertificateProfile } from '../config/profile.ts';
import { Refusal } from '../result-codes.ts';
import { signedCertificate, type CertificateContent, type CertificateSigner } from './signed-certificate.ts';
import type { ParsedCertificate } from './x509.ts';

/** A certification authority that can sign now. */
export interface CertificateIssuer extends Pick<CertificateSigner, 'signatureAlgorithm' | 'sign'> {
  readonly certificate: ParsedCertificate;
  /** DER, from the issuing authority upwards, itself included. */
  readonly chain: readonly Uint8Array[];
}

/**
 * Issues a certificate (RFC 5280 §4.1) and verifies it under the issuer's public key before it answers the DER.
 * @throws {RangeError} for a serial number or validity that no certificate may have, or one beyond the issuer's own end.
 * @throws {Error} when the signature does not verify.
 */
export async function issueCertificate(issuer: CertificateIssuer, content: CertificateContent): Promise<Uint8Array> {
  if (content.notAfter > issuer.certificate.notAfter) throw new RangeError('a certificate does not outlive its issuer');
  return signedCertificate(signerOf(issuer), content);
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
