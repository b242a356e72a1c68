import { DerError } from '../../asn1/reader.ts';
import { PathFault } from '../../x509/path/path-fault.ts';
import { findPath } from '../../x509/path/find-path.ts';
import { pathCertificate, type PathCertificate } from '../../x509/path/path-certificate.ts';
import { Refusal } from '../../result-codes.ts';
import type { SignerChain } from '../format.ts';

/**
 * The signer certificate and those above it, as path validation reads them.
 * @throws {Refusal} FIELDS_INCONSISTENT where an extension cannot be read: baseline B looks at none, the levels above it do
 */
export function signerCertificates({ certificate, issuers }: SignerChain): readonly [PathCertificate, ...PathCertificate[]] {
  return [readable(certificate.der, 'the signer certificate'), ...issuers.map((one) => readable(one, 'a certificate of its chain'))];
}

/**
 * Whether the chain of the signer is valid (RFC 5280 §6.1) at a moment, up to the last certificate that is known. Revocation is not looked at.
 * @throws {Refusal} FIELDS_INCONSISTENT, CERTIFICATE_STATUS_REFUSED
 */
export function checkSignerPath(signer: SignerChain, at: Date): void {
  const [own, ...issuers] = signerCertificates(signer);
  try {
    findPath(own, { anchors: [issuers.at(-1) ?? own], intermediates: issuers.slice(0, -1) }, { at });
  } catch (error) {
    if (!(error instanceof PathFault)) throw error;
    throw new Refusal('CERTIFICATE_STATUS_REFUSED', {
      message: `the chain of the signer certificate is not valid: ${error.message}`,
      cause: error,
    });
  }
}

/**
 * Whether a time-stamp of the signature says that it was made while the signer's certificate and its chain were valid.
 * @throws {Refusal} TIMESTAMP_INVALID where its time is outside of the certificate's validity; as `checkSignerPath`
 */
export function checkStampedSigner(signer: SignerChain, time: Date): void {
  const { notBefore, notAfter } = signer.certificate;
  if (time < notBefore || time > notAfter) {
    throw new Refusal('TIMESTAMP_INVALID', {
      message: `the time of the time-stamp, ${time.toISOString()}, is outside of the validity of the signer certificate, ${notBefore.toISOString()} to ${notAfter.toISOString()}`,
    });
  }
  checkSignerPath(signer, time);
}

function readable(der: Uint8Array, name: string): PathCertificate {
  try {
    return pathCertificate(der);
  } catch (error) {
    if (!(error instanceof DerError)) throw error;
    throw new Refusal('FIELDS_INCONSISTENT', {
      message: `a level above baseline B needs certificates whose extensions can be read, and ${name} has one that cannot: ${error.message}`,
      cause: error,
    });
  }
}
