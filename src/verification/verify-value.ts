import { createHash, type KeyObject } from 'node:crypto';
import { hashNumbers, native, schemeNumbers } from './native.ts';
import { nativeKeyOf } from './public-key.ts';

/** Hashes, as named in node:crypto. */
type Hash = keyof typeof hashNumbers;

/**
 * Algorithms that sign a digest: RFC 8017 §8.2 (PKCS1), §8.1 (PSS), FIPS 186-5 §6 (ECDSA), FIPS
 * 186-4 §4 (DSA).
 */
export type DigestAlgorithm =
  | { readonly scheme: 'RSA_PKCS1' | 'ECDSA' | 'DSA'; readonly hash: Hash }
  | { readonly scheme: 'RSA_PSS'; readonly hash: Hash; readonly mgfHash: Hash; readonly saltBytes: number };

/** Algorithms that sign data. Ed25519 and Ed448 sign it as a whole (RFC 8032). */
export type DataAlgorithm = DigestAlgorithm | { readonly scheme: 'EDDSA' };

/**
 * Whether a value is the key's signature of a digest. DigestInfo and ECDSA-Sig-Value have one valid
 * encoding, compared octet by octet. A value of the wrong length, a number out of range or a key of
 * another kind is false.
 */
export function valueVerifies(key: KeyObject, algorithm: DigestAlgorithm, digest: Uint8Array, value: Uint8Array): boolean {
  const known = nativeKeyOf(key);
  if (known === undefined) return false;
  const { scheme, hash } = algorithm;
  const [mgfHash, saltBytes] = algorithm.scheme === 'RSA_PSS' ? [algorithm.mgfHash, algorithm.saltBytes] : ([hash, 0] as const);
  return native().verifyDigest(known, schemeNumbers[scheme], hashNumbers[hash], hashNumbers[mgfHash], saltBytes, digest, value);
}

/** Whether a value is the key's signature of data. */
export function dataVerifies(key: KeyObject, algorithm: DataAlgorithm, data: Uint8Array, value: Uint8Array): boolean {
  if (algorithm.scheme !== 'EDDSA') return valueVerifies(key, algorithm, createHash(algorithm.hash).update(data).digest(), value);
  const known = nativeKeyOf(key);
  return known !== undefined && native().verifyMessage(known, data, value);
}
