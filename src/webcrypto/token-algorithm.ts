import type { MessageAlgorithm } from '../token/service-keys.ts';
import { hashBytes, type SignatureAlgorithm } from '../token/signature-algorithm.ts';
import { hashName, type RegisteredHash, type SigningAlgorithm } from './algorithms.ts';
import type { KeySpecification } from './key-specification.ts';
import { refusal } from './refusal.ts';

/**
 * Returns the token's algorithm for a signature by this algorithm with this key.
 * @throws InvalidAccessError for a key of another algorithm (§14.3.3); OperationError for a salt
 *   that is too long for the key
 */
export function tokenAlgorithm(specification: KeySpecification, algorithm: SigningAlgorithm): SignatureAlgorithm | MessageAlgorithm {
  if (specification.name === 'RSASSA-PKCS1-v1_5' && algorithm.name === 'RSASSA-PKCS1-v1_5') {
    return { scheme: 'RSA_PKCS1', hash: hashName(specification.hash) };
  }
  if (specification.name === 'RSA-PSS' && algorithm.name === 'RSA-PSS') {
    return pssAlgorithm(specification.hash, algorithm.saltLength, specification.modulusBits);
  }
  if (specification.name === 'ECDSA' && algorithm.name === 'ECDSA') return { scheme: 'ECDSA', hash: hashName(algorithm.hash) };
  if (specification.name === 'Ed25519' && algorithm.name === 'Ed25519') return { scheme: 'Ed25519' };
  if (specification.name === 'HMAC' && algorithm.name === 'HMAC') return { scheme: 'HMAC', hash: hashName(specification.hash) };
  throw refusal('InvalidAccessError', `a key of ${specification.name} cannot be used with ${algorithm.name}`);
}

/** Returns the RSA-PSS algorithm. RFC 8017 §9.1.1, step 3, limits the length of the salt. */
function pssAlgorithm(hash: RegisteredHash, saltLength: number, modulusBits: number): SignatureAlgorithm {
  const name = hashName(hash);
  const longest = Math.ceil((modulusBits - 1) / 8) - hashBytes[name] - 2;
  if (saltLength > longest)
    throw refusal('OperationError', `the salt of ${saltLength} bytes is too long: with ${hash} the key allows at most ${longest} bytes`);
  return { scheme: 'RSA_PSS', hash: name, mgfHash: name, saltBytes: saltLength };
}
