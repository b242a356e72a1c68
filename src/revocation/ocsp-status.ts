import { DerError } from '../asn1/reader.ts';
import { oids } from '../asn1/object-identifiers.ts';
import { checkPath } from '../x509/path/check-path.ts';
import { PathFault } from '../x509/path/path-fault.ts';
import type { PathCertificate } from '../x509/path/path-certificate.ts';
import { issuerHashes, keyHash, type OcspAnswer, type SingleAnswer } from './ocsp-answer.ts';
import { toleranceMs, undetermined, type CertificateStatus } from './status.ts';

export interface OcspQuestion {
  readonly certificate: PathCertificate;
  /** The certificate's issuer in its valid path. */
  readonly issuer: PathCertificate;
  /** The moment for which the data must be fresh. */
  readonly at: Date;
  /** What was sent; an answer without it is an old one that is still good (RFC 5019 §2.2.1), another one is refused. */
  readonly nonce?: Uint8Array | undefined;
}

/** Answers without nextUpdate say that newer data is always at hand (RFC 6960 §2.4): what they say is fresh for so long. */
const freshWithoutEndMs = 3_600_000;

/**
 * What an OCSP answer says of a certificate (RFC 6960 §3.2): it is of the issuer or of whom the issuer's own certificate delegates, signed, fresh, and
 * about this certificate.
 */
export function ocspStatus(answer: OcspAnswer, question: OcspQuestion): CertificateStatus {
  const { certificate, issuer, at, nonce } = question;
  if (answer.unknownCritical !== undefined)
    return undetermined(`the OCSP answer has the extension ${answer.unknownCritical}, which is not understood`);
  if (nonce !== undefined && answer.nonce !== undefined && Buffer.compare(nonce, answer.nonce) !== 0)
    return undetermined('the OCSP answer has another nonce');
  const single = answer.answers.find((one) => isAbout(one, certificate, issuer));
  if (single === undefined) return undetermined('the OCSP answer is about other certificates');
  const signer = signerOf(answer, issuer, at);
  if (typeof signer === 'string') return undetermined(signer);
  try {
    if (!answer.isSignedBy(signer)) return undetermined('the OCSP answer is not signed by its responder');
  } catch (error) {
    if (error instanceof DerError) return undetermined(error.message);
    throw error;
  }
  const [thisUpdate, producedAt] = [single.thisUpdate.getTime(), answer.producedAt.getTime()];
  if (Math.max(thisUpdate, producedAt) > at.getTime() + toleranceMs) return undetermined('the OCSP answer is of the future');
  if (producedAt + toleranceMs < thisUpdate) return undetermined('the OCSP answer speaks about a time after it was made');
  const end = single.nextUpdate?.getTime() ?? thisUpdate + freshWithoutEndMs;
  if (end + toleranceMs < at.getTime()) return undetermined('the OCSP answer is too old');
  const { status } = single;
  if (status.kind === 'unknown') return undetermined('the OCSP responder does not know the certificate');
  return status.kind === 'revoked' ? status : { kind: 'good' };
}

function isAbout(one: SingleAnswer, certificate: PathCertificate, issuer: PathCertificate): boolean {
  if (Buffer.compare(one.serialNumber, certificate.serialNumber) !== 0) return false;
  const hashes = issuerHashes(issuer, one.hash);
  return hashes.issuerNameHash.equals(one.issuerNameHash) && hashes.issuerKeyHash.equals(one.issuerKeyHash);
}

/**
 * RFC 6960 §4.2.2.2: the issuer itself, or who has a certificate of the issuer for this purpose, valid when the answer was made and still when it is relied
 * on: whoever has the key of one that ended makes answers of any time. A text says why there is none.
 */
function signerOf(answer: OcspAnswer, issuer: PathCertificate, at: Date): PathCertificate | string {
  const isResponder = (one: PathCertificate): boolean =>
    'name' in answer.responder
      ? one.subjectName.key === answer.responder.name.key
      : Buffer.compare(keyHash(one, 'sha1'), answer.responder.keyHash) === 0;
  if (isResponder(issuer)) return issuer;
  const delegate = answer.certificates.find(isResponder);
  if (delegate === undefined) return 'the OCSP answer has no certificate of its responder';
  try {
    checkPath(issuer, [delegate], { at: answer.producedAt, purpose: oids.ocspSigning });
    // A clock that is ahead makes answers with certificates of the same clock.
    if (at > answer.producedAt) checkPath(issuer, [delegate], { at, purpose: oids.ocspSigning });
    return delegate;
  } catch (error) {
    if (error instanceof PathFault) return `the OCSP responder has no right to answer: ${error.message}`;
    throw error;
  }
}
