import { constants, publicDecrypt, verify, type KeyObject } from 'node:crypto';
import { p256, p384, p521 } from '@noble/curves/nist.js';
import * as der from '../asn1/der.ts';
import { children, DerError, readAll } from '../asn1/reader.ts';
import type { HashName, SignatureAlgorithm } from '../token/signature-algorithm.ts';
import { hashOfIdentifier } from './algorithm-identifier.ts';
import { emsaPssHolds } from './emsa-pss.ts';

/** What a value is to be verified over: the data where it is at hand, else its digest. */
export interface Signed {
  readonly digest: Uint8Array;
  readonly data?: Uint8Array | undefined;
}

/** Whether a signature value (ECDSA: DER) verifies under the public key. */
export function valueVerifies(key: KeyObject, algorithm: SignatureAlgorithm, signed: Signed, value: Uint8Array): boolean {
  // Node has one hash for both places of PSS: where they differ, the digest's way is the only one.
  const isForDigest = signed.data === undefined || (algorithm.scheme === 'RSA_PSS' && algorithm.mgfHash !== algorithm.hash);
  return isForDigest ? overDigest(key, algorithm, signed.digest, value) : overData(key, algorithm, signed.data, value);
}

function overData(key: KeyObject, algorithm: SignatureAlgorithm, data: Uint8Array, value: Uint8Array): boolean {
  if (algorithm.scheme !== 'RSA_PSS') return verify(algorithm.hash, data, key, value);
  return verify(algorithm.hash, data, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: algorithm.saltBytes }, value);
}

/** Node verifies no value over a digest made elsewhere: RSA by its public operation, ECDSA by @noble/curves. */
function overDigest(key: KeyObject, algorithm: SignatureAlgorithm, digest: Uint8Array, value: Uint8Array): boolean {
  switch (algorithm.scheme) {
    case 'RSA_PKCS1':
      return pkcs1Holds(key, algorithm.hash, digest, value);
    case 'RSA_PSS': {
      const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
      const encoded = publicOperation(key, value, constants.RSA_NO_PADDING);
      return encoded !== undefined && emsaPssHolds(digest, encoded, bits - 1, algorithm);
    }
    case 'ECDSA':
      return ecdsaHolds(key, digest, value);
  }
}

/** RFC 8017 §8.2.2, with DigestInfo compared as a whole but for the optional NULL that some signers leave out. */
function pkcs1Holds(key: KeyObject, hash: HashName, digest: Uint8Array, value: Uint8Array): boolean {
  const info = publicOperation(key, value, constants.RSA_PKCS1_PADDING);
  if (info === undefined) return false;
  try {
    const [algorithm, octets] = children(readAll(info));
    if (algorithm === undefined || octets === undefined) return false;
    return hashOfIdentifier(algorithm) === hash && Buffer.compare(octets.raw, der.octetString(digest)) === 0;
  } catch (error) {
    if (error instanceof DerError) return false;
    throw error;
  }
}

function publicOperation(key: KeyObject, value: Uint8Array, padding: number): Buffer | undefined {
  try {
    return publicDecrypt({ key, padding }, value);
  } catch {
    return undefined;
  }
}

function ecdsaHolds(key: KeyObject, digest: Uint8Array, value: Uint8Array): boolean {
  const curves = { prime256v1: p256, secp384r1: p384, secp521r1: p521 };
  const name = key.asymmetricKeyDetails?.namedCurve;
  if (name !== 'prime256v1' && name !== 'secp384r1' && name !== 'secp521r1') return false;
  const { x, y } = key.export({ format: 'jwk' });
  if (x === undefined || y === undefined) return false;
  const point = Buffer.concat([Buffer.of(4), Buffer.from(x, 'base64url'), Buffer.from(y, 'base64url')]);
  try {
    return curves[name].verify(value, digest, point, { prehash: false, lowS: false, format: 'der' });
  } catch {
    return false;
  }
}
