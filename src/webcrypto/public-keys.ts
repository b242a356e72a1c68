import type { webcrypto } from 'node:crypto';
import { types } from 'node:util';
import { refusal } from './refusal.ts';

const publicFormats: readonly string[] = ['spki', 'raw', 'raw-public'];
/** Members of a JWK that only a private or secret key has (RFC 7518 §6.2.2, §6.3.2, §6.4.1). */
const privateMembers = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'priv'];

/** A public key in software. @throws InvalidAccessError for any other key. */
export function softwarePublicKey(key: webcrypto.CryptoKey): webcrypto.CryptoKey {
  if (!types.isCryptoKey(key) || key.type !== 'public') throw refusal('InvalidAccessError', 'not a public key in software');
  return key;
}

/**
 * @throws NotSupportedError for formats of private and secret keys, which would then be in
 *   software.
 */
export function checkPublicFormat(format: webcrypto.KeyFormat): void {
  if (!publicFormats.includes(format)) throw publicAlone();
}

/** @throws NotSupportedError for a JWK with a member of a private or secret key. */
export function checkPublicJwk(key: webcrypto.JsonWebKey): void {
  if (privateMembers.some((member) => member in key)) throw publicAlone();
}

/** Some algorithms take `raw` for secret keys. @throws NotSupportedError for one of them. */
export function checkPublic(key: webcrypto.CryptoKey): webcrypto.CryptoKey {
  if (key.type !== 'public') throw publicAlone();
  return key;
}

function publicAlone(): DOMException {
  return refusal('NotSupportedError', 'the token provider imports public keys alone');
}
