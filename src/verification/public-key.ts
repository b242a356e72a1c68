import { createPublicKey, type KeyObject } from 'node:crypto';
import { keyFault } from './key-bounds.ts';
import { native, type NativeKey } from './native.ts';

/**
 * Encodings of keys that `readPublicKey` read: having Node encode a key again takes as long as a
 * verification.
 */
const encodings = new WeakMap<KeyObject, Uint8Array>();
const nativeKeys = new WeakMap<KeyObject, NativeKey | 'none'>();

/** A key beyond the limits of this service. The message is the end of a sentence about it. */
export class KeyRefused extends Error {}

/**
 * Reads the public key of a SubjectPublicKeyInfo in DER.
 * @throws {KeyRefused} if it is beyond the limits
 * @throws {Error} if OpenSSL rejects it
 */
export function readPublicKey(subjectPublicKeyInfo: Uint8Array): KeyObject {
  const fault = keyFault(subjectPublicKeyInfo);
  if (fault !== undefined) throw new KeyRefused(fault);
  const key = createPublicKey({ key: Buffer.from(subjectPublicKeyInfo), format: 'der', type: 'spki' });
  encodings.set(key, subjectPublicKeyInfo);
  return key;
}

/**
 * Returns the same key for the native module, read once; undefined if it is beyond the limits, or
 * the module rejects it.
 */
export function nativeKeyOf(key: KeyObject): NativeKey | undefined {
  const known = nativeKeys.get(key);
  if (known !== undefined) return known === 'none' ? undefined : known;
  const encoding = encodings.get(key) ?? key.export({ type: 'spki', format: 'der' });
  const read = keyFault(encoding) === undefined ? native().readKey(encoding) : undefined;
  nativeKeys.set(key, read ?? 'none');
  return read;
}

/** FIPS 186-5 §5.4: 2^16 < e, and odd. Its end, 2^256, is far beyond `keyFault`. */
const exponentMin = 65_537n;

/**
 * Whether a signer may use this key: an RSA exponent below 65537 allows values that no private key
 * made.
 */
export function hasSoundExponent({ asymmetricKeyDetails }: KeyObject): boolean {
  const { publicExponent } = asymmetricKeyDetails ?? {};
  return publicExponent === undefined || (publicExponent >= exponentMin && publicExponent % 2n === 1n);
}
