import type { webcrypto } from 'node:crypto';
import { types } from 'node:util';
import { refusal } from './refusal.ts';

const publicFormats: readonly string[] = ['spki', 'raw', 'raw-public'];
/** Members of a JWK that only a private or secret key has (RFC 7518 §6.2.2, §6.3.2, §6.4.1). */
const privateMembers = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'priv'];

/** Checks that a key is a public key in software. @throws InvalidAccessError for any other key */
export function softwarePublicKey(key: webcrypto.CryptoKey): webcrypto.CryptoKey {
  if (!types.isCryptoKey(key) || key.type !== 'public') throw refusal('InvalidAccessError', 'not a public key in software');
  return key;
}

/**
 * Checks that a format is for public keys.
 * @throws NotSupportedError for formats of private and secret keys, which would then be in software
 */
export function checkPublicFormat(format: webcrypto.KeyFormat): void {
  if (!publicFormats.includes(format)) throw publicAlone();
}

/**
 * Checks that a JWK is public.
 * @throws NotSupportedError if it has a member of a private or secret key
 */
export function checkPublicJwk(key: webcrypto.JsonWebKey): void {
  if (privateMembers.some((member) => member in key)) throw publicAlone();
}

/**
 * Checks that an imported key is public, since some algorithms accept secret keys in `raw`.
 * @throws NotSupportedError for a secret key
 */
export function checkPublic(key: webcrypto.CryptoKey): webcrypto.CryptoKey {
  if (key.type !== 'public') throw publicAlone();
  return key;
}

function publicAlone(): DOMException {
  return refusal('NotSupportedError', 'the token provider only imports public keys');
}
