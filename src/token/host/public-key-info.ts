import * as der from '../../asn1/der.ts';
import { oids } from '../../asn1/object-identifiers.ts';

/**
 * SubjectPublicKeyInfo of an RSA key (RFC 3279 §2.3.1) from CKA_MODULUS and CKA_PUBLIC_EXPONENT.
 */
export function rsaPublicKeyInfo(modulus: Buffer, exponent: Buffer): Buffer {
  const algorithm = der.sequence(der.oid(oids.rsaEncryption), der.nullValue());
  return Buffer.from(der.sequence(algorithm, der.bitString(der.sequence(der.integer(modulus), der.integer(exponent)))));
}

/**
 * SubjectPublicKeyInfo of an EC key (RFC 5480 §2) from the DER of the curve's name and
 * CKA_EC_POINT.
 */
export function ecPublicKeyInfo(curve: Buffer, point: Buffer): Buffer {
  const algorithm = der.sequence(der.oid(oids.ecPublicKey), curve);
  return Buffer.from(der.sequence(algorithm, der.bitString(uncompressedPoint(point))));
}

/**
 * SubjectPublicKeyInfo of an Ed25519 key (RFC 8410 §4) from CKA_EC_POINT, which has 32 bytes,
 * possibly wrapped in an OCTET STRING.
 */
export function ed25519PublicKeyInfo(point: Buffer): Buffer {
  const key = point.length === 34 && point[0] === 0x04 && point[1] === 0x20 ? point.subarray(2) : point;
  if (key.length !== 32) throw new Error(`the token returned an Ed25519 public key of ${point.length} bytes`);
  return Buffer.from(der.sequence(der.sequence(der.oid(oids.ed25519)), der.bitString(key)));
}

/** PKCS#11 wraps the point in an OCTET STRING (§6.3.3); some modules return it unwrapped. */
function uncompressedPoint(point: Buffer): Buffer {
  if (point[0] === 0x04 && point[1] === 0x41 && point[2] === 0x04 && point.length === 67) return point.subarray(2);
  if (point[0] === 0x04 && point[1] === 0x61 && point[2] === 0x04 && point.length === 99) return point.subarray(2);
  if (point[0] === 0x04 && point[1] === 0x81 && point[2] === 0x85 && point[3] === 0x04) return point.subarray(3);
  return point;
}
