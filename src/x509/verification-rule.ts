import type { DerElement } from '../asn1/reader.ts';
import { DerError } from '../asn1/reader.ts';
import type { DataAlgorithm } from '../verification/verify-value.ts';
import { readSignatureIdentifier } from './signature-identifier.ts';

/**
 * Returns the verification algorithm for the AlgorithmIdentifier of a CRL, OCSP response or
 * certificate signature (RFC 5280 §4.1.1.2).
 * @throws {DerError} for unsupported algorithms, and those that do not name a hash
 */
export function verificationRule(identifier: DerElement): DataAlgorithm {
  const named = readSignatureIdentifier(identifier);
  if (named?.scheme === 'EDDSA' || named?.scheme === 'RSA_PSS') return named;
  if (named?.hash === undefined) throw new DerError('unsupported signature algorithm', identifier.start);
  return { scheme: named.scheme, hash: named.hash };
}
