import { createPublicKey, type KeyObject } from 'node:crypto';
import { native, type NativeKey } from './native.ts';

/** Of keys that `readPublicKey` read: to have Node encode a key anew takes as long as to verify with it. */
const encodings = new WeakMap<KeyObject, Uint8Array>();
const nativeKeys = new WeakMap<KeyObject, NativeKey | 'none'>();

/** A public key of a SubjectPublicKeyInfo in DER. @throws {Error} where OpenSSL takes it for none */
export function readPublicKey(subjectPublicKeyInfo: Uint8Array): KeyObject {
  const key = createPublicKey({ key: Buffer.from(subjectPublicKeyInfo), format: 'der', type: 'spki' });
  encodings.set(key, subjectPublicKeyInfo);
  return key;
}

/** The same key for the native module, read once; undefined where it takes it for none. */
export function nativeKeyOf(key: KeyObject): NativeKey | undefined {
  const known = nativeKeys.get(key);
  if (known !== undefined) return known === 'none' ? undefined : known;
  const read = native().readKey(encodings.get(key) ?? key.export({ type: 'spki', format: 'der' }));
  nativeKeys.set(key, read ?? 'none');
  return read;
}

/** FIPS 186-5 §5.4: 2^16 < e < 2^256, and odd. */
const exponent = { min: 65_537n, max: 1n << 256n } as const;

/** Whether a signer may have this key: an RSA exponent below 65537 leaves room for values that no private key made, and far above it each verification takes long. */
export function hasSoundExponent({ asymmetricKeyDetails }: KeyObject): boolean {
  const { publicExponent } = asymmetricKeyDetails ?? {};
  return publicExponent === undefined || (publicExponent >= exponent.min && publicExponent < exponent.max && publicExponent % 2n === 1n);
}
