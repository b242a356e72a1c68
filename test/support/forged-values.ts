import * as der from '../../src/asn1/der.ts';
import { oids } from '../../src/asn1/object-identifiers.ts';

/** A block of EMSA-PKCS1-v1_5 (RFC 8017 §9.2) around what should be a DigestInfo: 00 01, at least `paddingBytes` of FF, 00. */
export function paddedBlock(blockBytes: number, info: Uint8Array, paddingBytes = blockBytes - info.length - 3): Buffer {
  return Buffer.concat([Buffer.of(0, 1), Buffer.alloc(paddingBytes, 0xff), Buffer.of(0), info]);
}

/** DigestInfo (RFC 8017 §9.2) by its two parts, and whatever is to follow them in it. */
export function digestInfo(hashOid: string, digest: Uint8Array, ...more: readonly Uint8Array[]): Uint8Array {
  return der.sequence(der.sequence(der.oid(hashOid), der.nullValue()), der.octetString(digest), ...more);
}

/**
 * A value for a public exponent of 3 that nobody's private key made: its cube is a block that begins as the right one does, with the shortest padding, and has in
 * a third element of the DigestInfo whatever the cube root leaves there.
 */
export function forgedByCubeRoot(blockBytes: number, hashOid: string, digest: Uint8Array): Buffer {
  const infoOf = (fillerBytes: number): Uint8Array => digestInfo(hashOid, digest, der.octetString(Buffer.alloc(fillerBytes)));
  const most = blockBytes - 3 - 8;
  const info = Array.from({ length: most }, (_, fillerBytes) => infoOf(fillerBytes)).findLast(({ length }) => length <= most);
  if (info === undefined) throw new RangeError('the block has no room for a DigestInfo');
  const block = paddedBlock(blockBytes, info);
  const value = cubeRootAbove(BigInt(`0x${block.toString('hex')}`));
  return Buffer.from(value.toString(16).padStart(2 * blockBytes, '0'), 'hex');
}

/** The smallest number whose cube is not below another. */
function cubeRootAbove(cube: bigint): bigint {
  let [low, high] = [0n, 1n << BigInt(Math.ceil(cube.toString(2).length / 3) + 1)];
  while (low < high) {
    const middle = (low + high) / 2n;
    if (middle ** 3n < cube) low = middle + 1n;
    else high = middle;
  }
  return low;
}

/** SubjectPublicKeyInfo of an RSA key, whatever its numbers are. */
export function rsaPublicKey(modulus: Uint8Array, publicExponent: bigint): Uint8Array {
  const key = der.sequence(der.integer(modulus), der.integer(publicExponent));
  return der.sequence(der.sequence(der.oid(oids.rsaEncryption), der.nullValue()), der.bitString(key));
}
