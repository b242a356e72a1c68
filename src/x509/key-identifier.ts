import { createHash } from 'node:crypto';
import { children, DerError, readAll } from '../asn1/reader.ts';

/**
 * Returns the key identifier of RFC 7093 §2, method 1: the leftmost 160 bits of the SHA-256 of the
 * public key's BIT STRING.
 * @throws {DerError}
 */
export function keyIdentifier(subjectPublicKeyInfo: Uint8Array): Uint8Array {
  const [, publicKey] = children(readAll(subjectPublicKeyInfo));
  if (publicKey?.tag !== 0x03) throw new DerError('not a SubjectPublicKeyInfo', 0);
  return createHash('sha256').update(publicKey.content.subarray(1)).digest().subarray(0, 20);
}
