import { createPublicKey, type KeyObject } from 'node:crypto';
import { native, type NativeKey } from './native.ts';

/**
 * Encodings of keys that `readPublicKey` read: having Node encode a key again takes as long as a
 * verification.
 */
const encodings = new WeakMap<KeyObject, Uint8Array>();
const nativeKeys = new WeakMap<KeyObject, NativeKey | 'none'>();

/** Reads the public key of a SubjectPublicKeyInfo in DER. @throws {Error} if OpenSSL rejects it */
export function readPublicKey(subjectPublicKeyInfo: Uint8Array): KeyObject {
  const key = createPublicKey({ key: Buffer.from(subjectPublicKeyInfo), format: 'der', type: 'spki' });
  encodings.set(key, subjectPublicKeyInfo);
  return key;
}

/** Returns the same key for the native module, read once; undefined if the module rejects it. */
export function nativeKeyOf(key: KeyObject): NativeKey | undefined {
  const known = nativeKeys.get(key);
  if (known !== undefined) return known === 'none' ? undefined : known;
  const read = native().readKey(encodings.get(key) ?? key.export({ type: 'spki', format: 'der' }));
  nativeKeys.set(key, read ?? 'none');
  return read;
}

/** FIPS 186-5 §5.4: 2^16 < e < 2^256, and odd. */
const exponent = { min: 65_537n, max: 1n << 256n } as const;

/**
 * Whether a signer may use this key: an RSA exponent below 65537 allows values that no private key
 * made, and a huge one makes each verification slow.
 */
export function hasSoundExponent({ asymmetricKeyDetails }: KeyObject): boolean {
  const { publicExponent } = asymmetricKeyDetails ?? {};
  return publicExponent === undefined || (publicExponent >= exponent.min && publicExponent < exponent.max && publicExponent % 2n === 1n);
}
