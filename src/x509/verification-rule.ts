import type { DerElement } from '../asn1/reader.ts';
import { DerError } from '../asn1/reader.ts';
import type { DataAlgorithm } from '../verification/verify-value.ts';
import { readSignatureIdentifier } from './signature-identifier.ts';

/**
 * How a value verifies, by the AlgorithmIdentifier of the signature of a CRL, an OCSP answer or a certificate (RFC 5280 §4.1.1.2).
 * @throws {DerError} for algorithms that are not understood, and those without a hash of their own
 */
export function verificationRule(identifier: DerElement): DataAlgorithm {
  const named = readSignatureIdentifier(identifier);
  if (named?.scheme === 'EDDSA' || named?.scheme === 'RSA_PSS') return named;
  if (named?.hash === undefined) throw new DerError('a signature algorithm that is not understood', identifier.start);
  return { scheme: named.scheme, hash: named.hash };
}
