import { DerError } from '../asn1/reader.ts';
import { isSameName, type GeneralName } from '../certificates/path/general-names.ts';
import { keyUsageBits, type PathCertificate } from '../certificates/path/path-certificate.ts';
import type { Crl } from './crl.ts';
import { toleranceMs, undetermined, type CertificateStatus } from './status.ts';

export interface CrlQuestion {
  readonly certificate: PathCertificate;
  /** Certificates of the certificate's issuer whose path is valid: the CRL may be signed by another key of the same name. */
  readonly issuers: readonly PathCertificate[];
  /** The moment for which the data must be fresh. */
  readonly at: Date;
}

/**
 * What a complete, direct CRL says of a certificate (RFC 5280 §6.3.3, without deltas and indirect CRLs). Fresh is a CRL whose nextUpdate is not over; one
 * without nextUpdate says nothing.
 */
export function crlStatus(crl: Crl, question: CrlQuestion): CertificateStatus {
  const { certificate, at } = question;
  if (crl.issuer.key !== certificate.issuer.key) return undetermined('the CRL is of another issuer');
  if (crl.limit !== undefined) return undetermined(`the CRL cannot be used: ${crl.limit}`);
  if (!(certificate.isCa ? crl.scope.authorityCertificates : crl.scope.userCertificates))
    return undetermined('the CRL speaks about other certificates');
  if (!isOfPoint(crl.scope.distributionPoint, certificate.distributionPoints))
    return undetermined('the CRL is of another distribution point');
  if (crl.thisUpdate.getTime() > at.getTime() + toleranceMs) return undetermined('the CRL is of the future');
  if (crl.nextUpdate === undefined || crl.nextUpdate < at) return undetermined('the CRL is too old');
  const signers = question.issuers.filter((issuer) => issuer.subject.key === crl.issuer.key && maySign(issuer));
  try {
    if (!signers.some((signer) => crl.isSignedBy(signer))) return undetermined('the CRL is not signed by the issuer');
    const entry = crl.find(certificate.serialNumber);
    return entry === undefined ? { kind: 'good' } : { kind: 'revoked', ...entry };
  } catch (error) {
    if (error instanceof DerError) return undetermined(`the CRL cannot be read: ${error.message}`);
    throw error;
  }
}

function maySign({ keyUsage }: PathCertificate): boolean {
  return keyUsage === undefined || keyUsage.has(keyUsageBits.cRLSign);
}

/** A CRL that names its distribution point serves for certificates that name the same (RFC 5280 §6.3.3 b 2). */
function isOfPoint(point: readonly GeneralName[] | undefined, names: readonly GeneralName[]): boolean {
  return point === undefined || point.some((one) => names.some((other) => isSameName(one, other)));
}
