import type { webcrypto } from 'node:crypto';
import { type KeyType, keyTypes } from '../config/key-types.ts';
import type { MessageAlgorithm } from '../token/service-keys.ts';
import { hashBytes, type SignatureAlgorithm } from '../token/signature-algorithm.ts';
import { algorithmName, hashMember, hashName, memberOf, type RegisteredHash, type SigningAlgorithm, unsignedMember } from './algorithms.ts';
import { refusal } from './refusal.ts';

type Curve = 'P-256' | 'P-384' | 'P-521';

/** Type and parameters of a key, which determine how it signs: fixed when it is made or opened. */
export type KeySpecification =
  | { readonly name: 'RSASSA-PKCS1-v1_5' | 'RSA-PSS'; readonly hash: RegisteredHash; readonly modulusBits: number }
  | { readonly name: 'ECDSA'; readonly namedCurve: Curve }
  | { readonly name: 'Ed25519' }
  | { readonly name: 'HMAC'; readonly hash: RegisteredHash; readonly bytes: number };

/** FIPS 198-1 §3: block length of the hash, the default length of an HMAC key (W3C §31.6.3). */
const blockBytes = { 'SHA-256': 64, 'SHA-384': 128, 'SHA-512': 128 } as const satisfies Record<RegisteredHash, number>;
const longestMacKeyBytes = 512;
const fermat4 = '010001';

/**
 * Reads the algorithm of generateKey.
 * @throws NotSupportedError for algorithms, hashes and curves that the provider does not support;
 *   OperationError for sizes that the token does not support; TypeError for missing members
 */
export function generationSpecification(algorithm: webcrypto.AlgorithmIdentifier): KeySpecification {
  const name = algorithmName(algorithm);
  if (name !== 'RSASSA-PKCS1-v1_5' && name !== 'RSA-PSS') return curveOrMacSpecification(name, algorithm);
  const hash = hashMember(algorithm);
  const modulusBits = unsignedMember(algorithm, 'modulusLength');
  const exponent = memberOf(algorithm, 'publicExponent');
  if (!(exponent instanceof Uint8Array)) throw new TypeError('algorithm.publicExponent is not a Uint8Array');
  if (
    Buffer.from(exponent)
      .toString('hex')
      .replace(/^(00)+/, '') !== fermat4
  ) {
    throw refusal('OperationError', 'the token only makes RSA keys with the public exponent 65537');
  }
  if (rsaKeyType(modulusBits) === undefined) throw refusal('OperationError', `the token does not support RSA keys of ${modulusBits} bits`);
  return { name, hash, modulusBits };
}

/**
 * Returns the specification of an existing key on the token, from the algorithm that it is opened
 * for and its public key.
 */
export function openingSpecification(algorithm: webcrypto.AlgorithmIdentifier, publicKey: webcrypto.CryptoKey): KeySpecification {
  const name = algorithmName(algorithm);
  if (name !== 'RSASSA-PKCS1-v1_5' && name !== 'RSA-PSS') return curveOrMacSpecification(name, algorithm);
  const modulusBits: unknown = Reflect.get(publicKey.algorithm, 'modulusLength');
  if (typeof modulusBits !== 'number') throw refusal('DataError', 'the public key is not an RSA key');
  return { name, hash: hashMember(algorithm), modulusBits };
}

/**
 * Reads the specification of an HMAC key from the members `hash` and `length` (bits).
 * @throws NotSupportedError, OperationError, TypeError
 */
export function macSpecification(algorithm: webcrypto.AlgorithmIdentifier): KeySpecification & { readonly name: 'HMAC' } {
  return { name: 'HMAC', ...macSize(algorithm) };
}

export function rsaKeyType(modulusBits: number): KeyType | undefined {
  return keyTypes.find((type) => type === `RSA-${modulusBits}`);
}

function curveOrMacSpecification(name: 'ECDSA' | 'Ed25519' | 'HMAC', algorithm: webcrypto.AlgorithmIdentifier): KeySpecification {
  if (name === 'Ed25519') return { name };
  if (name === 'HMAC') return macSpecification(algorithm);
  const curve = memberOf(algorithm, 'namedCurve');
  if (typeof curve !== 'string') throw new TypeError('algorithm.namedCurve is missing');
  if (curve !== 'P-256' && curve !== 'P-384' && curve !== 'P-521') {
    throw refusal('NotSupportedError', `the token provider does not support the curve ${curve}`);
  }
  return { name, namedCurve: curve };
}

/**
 * Reads hash and length of an HMAC key. RFC 2104 §3 discourages keys shorter than the hash, and
 * modules refuse them.
 */
function macSize(algorithm: webcrypto.AlgorithmIdentifier): { hash: RegisteredHash; bytes: number } {
  const hash = hashMember(algorithm);
  if (memberOf(algorithm, 'length') === undefined) return { hash, bytes: blockBytes[hash] };
  const bits = unsignedMember(algorithm, 'length');
  const shortest = hashBytes[hashName(hash)];
  if (bits % 8 !== 0 || bits < shortest * 8 || bits > longestMacKeyBytes * 8) {
    throw refusal('OperationError', `an HMAC key with ${hash} must have ${shortest * 8} to ${longestMacKeyBytes * 8} bits, in whole bytes`);
  }
  return { hash, bytes: bits / 8 };
}

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
