import { generateKeyPairSync } from 'node:crypto';
import * as der from '../asn1/der.ts';
import { oids } from '../asn1/object-identifiers.ts';
import type { KeyType } from '../config/profile.ts';

const made = new Map<KeyType, Uint8Array>();

/**
 * Returns a public key (SubjectPublicKeyInfo, DER) of the type, for a certificate that is never
 * signed. An EC private key is discarded at once; an RSA key, which would take a second to
 * generate, never has one.
 */
export function placeholderKey(type: KeyType): Uint8Array {
  const known = made.get(type);
  if (known !== undefined) return known;
  const key = type.startsWith('RSA-') ? rsaKey(Number(type.slice('RSA-'.length))) : curveKey(type);
  made.set(type, key);
  return key;
}

function curveKey(namedCurve: string): Uint8Array {
  return generateKeyPairSync('ec', { namedCurve }).publicKey.export({ format: 'der', type: 'spki' });
}

function rsaKey(bits: number): Uint8Array {
  const modulus = new Uint8Array(bits / 8).fill(0xff);
  const key = der.sequence(der.integer(modulus), der.integer(65_537));
  return der.sequence(der.sequence(der.oid(oids.rsaEncryption), der.nullValue()), der.bitString(key));
}
