import type { webcrypto } from 'node:crypto';
import type { MacHash } from '../token/service-keys.ts';
import type { HashName } from '../token/signature-algorithm.ts';
import { refusal } from './refusal.ts';

/**
 * Algorithms of the provider's keys, by their registered names (W3C Web Cryptography §19; Ed25519:
 * Level 2).
 */
const names = ['RSASSA-PKCS1-v1_5', 'RSA-PSS', 'ECDSA', 'Ed25519', 'HMAC'] as const;
export type AlgorithmName = (typeof names)[number];

/**
 * Registered hashes that the provider signs with. SHA-1 is excluded: Node verifies with it, but the
 * token never signs with it.
 */
const hashes = { 'SHA-256': 'sha256', 'SHA-384': 'sha384', 'SHA-512': 'sha512' } as const satisfies Record<string, HashName & MacHash>;
export type RegisteredHash = keyof typeof hashes;

/** A validated signature algorithm. */
export type SigningAlgorithm =
  | { readonly name: 'RSASSA-PKCS1-v1_5' | 'Ed25519' | 'HMAC' }
  | { readonly name: 'RSA-PSS'; readonly saltLength: number }
  | { readonly name: 'ECDSA'; readonly hash: RegisteredHash };

export function hashName(hash: RegisteredHash): HashName & MacHash {
  return hashes[hash];
}

/**
 * Reads the name of an algorithm, in any case (§18.4.4).
 * @throws NotSupportedError for a name that the provider does not support
 */
export function algorithmName(algorithm: webcrypto.AlgorithmIdentifier): AlgorithmName {
  const text = nameOf(algorithm);
  const name = names.find((known) => known.toUpperCase() === text.toUpperCase());
  if (name === undefined) throw refusal('NotSupportedError', `the token provider does not support the algorithm ${text}`);
  return name;
}

/**
 * Reads the algorithm of a signature or of its verification.
 * @throws NotSupportedError; TypeError for a member that is missing.
 */
export function signingAlgorithm(algorithm: webcrypto.AlgorithmIdentifier): SigningAlgorithm {
  const name = algorithmName(algorithm);
  switch (name) {
    case 'RSA-PSS':
      return { name, saltLength: unsignedMember(algorithm, 'saltLength') };
    case 'ECDSA':
      return { name, hash: hashMember(algorithm) };
    case 'RSASSA-PKCS1-v1_5':
    case 'Ed25519':
    case 'HMAC':
      return { name };
  }
}

/**
 * Reads the member `hash`.
 * @throws NotSupportedError for a hash that the provider does not sign with; TypeError if it is
 *   missing
 */
export function hashMember(algorithm: webcrypto.AlgorithmIdentifier): RegisteredHash {
  const value = memberOf(algorithm, 'hash');
  if (typeof value !== 'string' && (typeof value !== 'object' || value === null)) throw new TypeError('algorithm.hash is missing');
  const text = nameOf(value);
  const hash = (['SHA-256', 'SHA-384', 'SHA-512'] as const).find((known) => known === text.toUpperCase());
  if (hash === undefined) throw refusal('NotSupportedError', `the token provider does not sign with ${text}`);
  return hash;
}

/**
 * Reads a member that is an unsigned integer.
 * @throws TypeError if it is missing or anything else
 */
export function unsignedMember(algorithm: webcrypto.AlgorithmIdentifier, member: string): number {
  const value = memberOf(algorithm, member);
  if (typeof value !== 'number' || !Number.isInteger(value) || value < 0)
    throw new TypeError(`algorithm.${member} is not an unsigned integer`);
  return value;
}

export function memberOf(algorithm: webcrypto.AlgorithmIdentifier, member: string): unknown {
  return typeof algorithm === 'string' ? undefined : Reflect.get(algorithm, member);
}

function nameOf(algorithm: string | object): string {
  const name: unknown = typeof algorithm === 'string' ? algorithm : Reflect.get(algorithm, 'name');
  if (typeof name !== 'string') throw new TypeError('algorithm.name is missing');
  return name;
}
