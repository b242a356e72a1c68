import { DerError } from '../asn1/reader.ts';
import { nameKey, type GeneralName } from '../x509/path/general-names.ts';
import { keyUsageBits, type PathCertificate } from '../x509/path/path-certificate.ts';
import type { Crl } from './crl.ts';
import { toleranceMs, undetermined, type CertificateStatus } from './status.ts';

export interface CrlQuestion {
  readonly certificate: PathCertificate;
  /**
   * Issuer certificates with a valid path; another key of the same name may have signed the CRL.
   */
  readonly issuers: readonly PathCertificate[];
  /** Time at which the data must be fresh. */
  readonly at: Date;
}

/**
 * Returns the status of a certificate according to a complete, direct CRL (RFC 5280 §6.3.3, without
 * deltas and indirect CRLs). A CRL is fresh until nextUpdate; one without nextUpdate is not used.
 */
export function crlStatus(crl: Crl, question: CrlQuestion): CertificateStatus {
  const { certificate } = question;
  if (crl.issuer.key !== certificate.issuerName.key) return undetermined('the CRL is from another issuer');
  const fault = crlFault(crl, question);
  if (fault !== undefined) return undetermined(fault);
  if (!(certificate.isCa ? crl.scope.authorityCertificates : crl.scope.userCertificates))
    return undetermined('the CRL does not cover this certificate');
  if (!isOfPoint(crl.scope.distributionPoint, certificate.distributionPoints))
    return undetermined('the CRL is for another distribution point');
  try {
    const entry = crl.find(certificate.serialNumber);
    return entry === undefined ? { kind: 'good' } : { kind: 'revoked', ...entry };
  } catch (error) {
    if (error instanceof DerError) return undetermined(`the CRL cannot be read: ${error.message}`);
    throw error;
  }
}

/**
 * Returns why a CRL cannot be used for any certificate of these issuers: not theirs, not signed by
 * them, not fresh, or not supported.
 */
export function crlFault(crl: Crl, { issuers, at }: Omit<CrlQuestion, 'certificate'>): string | undefined {
  const signers = issuers.filter((issuer) => issuer.subjectName.key === crl.issuer.key);
  if (signers.length === 0) return 'the CRL is from another issuer';
  if (crl.limit !== undefined) return `the CRL cannot be used: ${crl.limit}`;
  if (crl.thisUpdate.getTime() > at.getTime() + toleranceMs) return 'the CRL is dated in the future';
  if (crl.nextUpdate === undefined || crl.nextUpdate < at) return 'the CRL is too old';
  try {
    return signers.some((signer) => maySign(signer) && crl.isSignedBy(signer)) ? undefined : 'the CRL is not signed by the issuer';
  } catch (error) {
    if (error instanceof DerError) return `the CRL cannot be read: ${error.message}`;
    throw error;
  }
}

function maySign({ keyUsage }: PathCertificate): boolean {
  return keyUsage === undefined || keyUsage.has(keyUsageBits.cRLSign);
}

/**
 * Whether a CRL that names its distribution point covers a certificate: only if that names the same
 * (RFC 5280 §6.3.3 b 2).
 */
function isOfPoint(point: readonly GeneralName[] | undefined, names: readonly GeneralName[]): boolean {
  if (point === undefined) return true;
  const keys = new Set(point.map(nameKey));
  return names.map(nameKey).some((key) => key !== undefined && keys.has(key));
}
