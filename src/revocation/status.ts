import { DerError } from '../asn1/reader.ts';
import { nameKey, type GeneralName } from '../x509/path/general-names.ts';
import { keyUsageBits, type PathCertificate } from '../x509/path/path-certificate.ts';
import type { Crl } from './crl.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { reasonCode } from '../certificates/revocation-reasons.ts';
import { checkPath } from '../x509/path/check-path.ts';
import type { SignedPair } from '../x509/known-signatures.ts';
import { PathFault } from '../x509/path/path-fault.ts';
import { issuerHashes, keyHash, type OcspAnswer, type SingleAnswer } from './ocsp-answer.ts';

/**
 * Status of a certificate according to a source of revocation data (RFC 5280 §6.3, RFC 6960 §2.2).
 */
export type CertificateStatus =
  | { readonly kind: 'good' }
  | { readonly kind: 'revoked'; readonly revokedAt: Date; readonly reason: number | undefined }
  | Undetermined;

export interface Undetermined {
  readonly kind: 'undetermined';
  readonly why: string;
  /**
   * True if authentic data about the certificate leaves its status open: a responder that does not
   * know it, or data that is not fresh. Absent if there is no such data.
   */
  readonly isAnswered?: true;
}

export function undetermined(why: string): Undetermined {
  return { kind: 'undetermined', why };
}

/** Returns the status of a certificate about which authentic data leaves it open. */
function leftOpen(why: string): Undetermined {
  return { kind: 'undetermined', why, isAnswered: true };
}

/** Tolerance for clocks of CRL issuers and OCSP responders that are ahead. */
export const toleranceMs = 300_000;

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
 * deltas and indirect CRLs). A CRL is fresh until nextUpdate; one that is not fresh, or has no
 * nextUpdate, shows only that a certificate was revoked for good.
 */
export function crlStatus(crl: Crl, question: CrlQuestion): CertificateStatus {
  const { certificate } = question;
  if (crl.issuer.key !== certificate.issuerName.key) return undetermined('the CRL is from another issuer');
  const fault = crlFault(crl, question);
  if (fault !== undefined && !fault.isStale) return undetermined(fault.why);
  if (!(certificate.isCa ? crl.scope.authorityCertificates : crl.scope.userCertificates))
    return undetermined('the CRL does not cover this certificate');
  if (!isOfPoint(crl.scope.distributionPoint, certificate.distributionPoints))
    return undetermined('the CRL is for another distribution point');
  const { entry, unreadable } = crl.lookUp(certificate.serialNumber);
  if (unreadable !== undefined) return undetermined(`the CRL cannot be read: ${unreadable}`);
  if (entry !== undefined && (fault === undefined || isFinal(entry.reason))) return { kind: 'revoked', ...entry };
  return fault === undefined ? { kind: 'good' } : leftOpen(fault.why);
}

/** Returns false for a hold, which can be lifted (RFC 5280 §5.3.1). */
function isFinal(reason: number | undefined): boolean {
  return reason !== reasonCode('CERTIFICATE_HOLD');
}

/** Why a CRL cannot be used. */
export interface CrlFault {
  readonly why: string;
  /** True if nothing is wrong with it but its time. */
  readonly isStale: boolean;
}

/**
 * Returns why a CRL cannot be used for any certificate of these issuers: not theirs, not signed by
 * them, not fresh, or not supported.
 */
export function crlFault(crl: Crl, { issuers, at }: Omit<CrlQuestion, 'certificate'>): CrlFault | undefined {
  const fault = (why: string): CrlFault => ({ why, isStale: false });
  const signers = issuers.filter((issuer) => issuer.subjectName.key === crl.issuer.key);
  if (signers.length === 0) return fault('the CRL is from another issuer');
  if (crl.limit !== undefined) return fault(`the CRL cannot be used: ${crl.limit}`);
  try {
    if (!signers.some((signer) => maySign(signer) && crl.isSignedBy(signer))) return fault('the CRL is not signed by the issuer');
  } catch (error) {
    if (error instanceof DerError) return fault(`the CRL cannot be read: ${error.message}`);
    throw error;
  }
  if (crl.thisUpdate.getTime() > at.getTime() + toleranceMs) return { why: 'the CRL is dated in the future', isStale: true };
  if (crl.nextUpdate === undefined || crl.nextUpdate < at) return { why: 'the CRL is too old', isStale: true };
  return undefined;
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

export interface OcspQuestion {
  readonly certificate: PathCertificate;
  /** The certificate's issuer in its valid path. */
  readonly issuer: PathCertificate;
  /** Time at which the data must be fresh. */
  readonly at: Date;
  /**
   * The nonce sent. A response without one may be pre-produced (RFC 5019 §2.2.1); a different nonce
   * is rejected.
   */
  readonly nonce?: Uint8Array | undefined;
}

/**
 * How long a response without nextUpdate is fresh. Such a responder always has newer data (RFC 6960
 * §2.4).
 */
const freshWithoutEndMs = 3_600_000;

/**
 * Returns the status of a certificate according to an OCSP response (RFC 6960 §3.2), which must be
 * about this certificate, fresh, and signed by the issuer or by a responder to which the issuer
 * delegated this directly.
 */
export function ocspStatus(answer: OcspAnswer, question: OcspQuestion): CertificateStatus {
  const { certificate, issuer, at, nonce } = question;
  if (answer.unknownCritical !== undefined)
    return undetermined(`the OCSP response has the unknown critical extension ${answer.unknownCritical}`);
  if (nonce !== undefined && answer.nonce !== undefined && Buffer.compare(nonce, answer.nonce) !== 0)
    return undetermined('the nonce of the OCSP response does not match');
  const single = answer.answers.find((one) => isAbout(one, certificate, issuer));
  if (single === undefined) return undetermined('the OCSP response is about other certificates');
  const signer = signerOf(answer, issuer, at);
  if (typeof signer === 'string') return undetermined(signer);
  try {
    if (!answer.isSignedBy(signer)) return undetermined('the OCSP response is not signed by its responder');
  } catch (error) {
    if (error instanceof DerError) return undetermined(error.message);
    throw error;
  }
  const [thisUpdate, producedAt] = [single.thisUpdate.getTime(), answer.producedAt.getTime()];
  const { status } = single;
  if (producedAt + toleranceMs < thisUpdate) return undetermined('the OCSP response has a thisUpdate later than producedAt');
  const end = single.nextUpdate?.getTime() ?? thisUpdate + freshWithoutEndMs;
  const isEarly = Math.max(thisUpdate, producedAt) > at.getTime() + toleranceMs;
  if (isEarly || end + toleranceMs < at.getTime()) {
    if (status.kind === 'revoked' && isFinal(status.reason)) return status;
    return leftOpen(isEarly ? 'the OCSP response is dated in the future' : 'the OCSP response is too old');
  }
  if (status.kind === 'unknown') return leftOpen('the OCSP responder does not know the certificate');
  return status.kind === 'revoked' ? status : { kind: 'good' };
}

function isAbout(one: SingleAnswer, certificate: PathCertificate, issuer: PathCertificate): boolean {
  if (Buffer.compare(one.serialNumber, certificate.serialNumber) !== 0) return false;
  const hashes = issuerHashes(issuer, one.hash);
  return hashes.issuerNameHash.equals(one.issuerNameHash) && hashes.issuerKeyHash.equals(one.issuerKeyHash);
}

/**
 * Returns the signer (RFC 6960 §4.2.2.2): the issuer itself, or a holder of a certificate that the
 * issuer issued for this purpose. It must be valid both when the response was produced and when it
 * is used, since the key of an expired certificate could sign responses with any date. Returns a
 * text if there is no authorised signer.
 */
function signerOf(answer: OcspAnswer, issuer: PathCertificate, at: Date): PathCertificate | string {
  const delegate = responderOf(answer, issuer);
  if (delegate === issuer) return issuer;
  if (delegate === undefined) return "the OCSP response lacks its responder's certificate";
  try {
    checkPath(issuer, [delegate], { at: answer.producedAt, purpose: oids.ocspSigning });
    // If the responder's clock is ahead, its certificate may be dated by the same clock.
    if (at > answer.producedAt) checkPath(issuer, [delegate], { at, purpose: oids.ocspSigning });
    return delegate;
  } catch (error) {
    if (error instanceof PathFault) return `the OCSP responder is not authorised: ${error.message}`;
    throw error;
  }
}

/** Returns the certificate that the responder names, the issuer's own before others. */
function responderOf({ responder, certificates }: OcspAnswer, issuer: PathCertificate): PathCertificate | undefined {
  return [issuer, ...certificates].find((one) =>
    'name' in responder ? one.subjectName.key === responder.name.key : Buffer.compare(keyHash(one, 'sha1'), responder.keyHash) === 0,
  );
}

/** Returns the signatures that `ocspStatus` verifies, so that they can be verified ahead. */
export function signaturesOf(answer: OcspAnswer, issuer: PathCertificate): SignedPair[] {
  const signer = responderOf(answer, issuer);
  if (signer === undefined) return [];
  const ofResponse: SignedPair = { signed: answer.basic, isResponse: true, subjectPublicKeyInfo: signer.subjectPublicKeyInfo };
  return signer === issuer ? [ofResponse] : [{ signed: signer.der, subjectPublicKeyInfo: issuer.subjectPublicKeyInfo }, ofResponse];
}
