import { DerError } from '../../asn1/reader.ts';
import { PathFault } from '../../x509/path/path-fault.ts';
import { findPath } from '../../x509/path/find-path.ts';
import { pathCertificate, type PathCertificate } from '../../x509/path/path-certificate.ts';
import { verifyPaths } from '../../x509/path/verify-paths.ts';
import { Refusal } from '../../result-codes.ts';
import type { WorkThreads } from '../../threads/work-threads.ts';
import type { SignerChain } from '../format.ts';

/**
 * Returns the signer certificate and those above it, as path validation reads them.
 * @throws {Refusal} FIELDS_INCONSISTENT if an extension cannot be read: only levels above baseline
 * B use extensions
 */
export function signerCertificates({ certificate, issuers }: SignerChain): readonly [PathCertificate, ...PathCertificate[]] {
  return [readable(certificate.der, 'the signer certificate'), ...issuers.map((one) => readable(one, 'a certificate of its chain'))];
}

/**
 * Verifies the signatures of the signer's chain, in a thread if that takes long: `checkSignerPath`
 * then finds them verified.
 * @throws {Refusal} as `checkSignerPath`
 */
export async function verifySignerChain(signer: SignerChain, threads: Pick<WorkThreads, 'run'>): Promise<void> {
  try {
    await verifyPaths(signerCertificates(signer), [], threads);
  } catch (error) {
    throw chainRefusal(error);
  }
}

/**
 * Checks whether the signer's chain is valid (RFC 5280 §6.1) at a given time, up to the last known
 * certificate. Revocation is not checked.
 * @throws {Refusal} FIELDS_INCONSISTENT, CERTIFICATE_STATUS_REFUSED
 */
export function checkSignerPath(signer: SignerChain, at: Date): void {
  const [own, ...issuers] = signerCertificates(signer);
  try {
    findPath(own, { anchors: [issuers.at(-1) ?? own], intermediates: issuers.slice(0, -1) }, { at });
  } catch (error) {
    throw chainRefusal(error);
  }
}

function chainRefusal(error: unknown): unknown {
  if (!(error instanceof PathFault)) return error;
  const message = `the chain of the signer certificate is not valid: ${error.message}`;
  return new Refusal('CERTIFICATE_STATUS_REFUSED', { message, cause: error });
}

/**
 * Checks whether a time-stamp shows that the signature was made while the signer's chain was valid.
 * @throws {Refusal} TIMESTAMP_INVALID if its time is outside the validity of the certificate; as
 * `checkSignerPath`
 */
export function checkStampedSigner(signer: SignerChain, time: Date): void {
  const { notBefore, notAfter } = signer.certificate;
  if (time < notBefore || time > notAfter) {
    throw new Refusal('TIMESTAMP_INVALID', {
      message: `the time of the time-stamp, ${time.toISOString()}, is outside the validity of the signer certificate, ${notBefore.toISOString()} to ${notAfter.toISOString()}`,
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
      message: `levels above baseline B need readable certificate extensions, and ${name} has an unreadable one: ${error.message}`,
      cause: error,
    });
  }
}
