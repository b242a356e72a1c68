import type { KeyObject } from 'node:crypto';

/**
 * Microseconds that OpenSSL takes to verify one value of a curve on a current machine. Only P-256
 * has optimised code.
 */
const curveMicroseconds = new Map<string | undefined, number>([
  ['prime256v1', 80],
  ['secp224r1', 400],
  ['secp256k1', 500],
  ['brainpoolP256r1', 500],
  ['secp384r1', 900],
  ['secp521r1', 2000],
]);
const edwardsMicroseconds = 300;
const otherMicroseconds = 2000;
/**
 * RSA-2048 with exponent 65537, which has 17 bits; the time grows with the square of the modulus
 * and with the exponent.
 */
const rsa = { microseconds: 25, modulusBits: 2048, exponentBits: 17 } as const;
/**
 * Shorter work does not block the event loop noticeably, and a thread would cost more than it
 * saves.
 */
const longMicroseconds = 5000;

/** Whether verifying this many values takes too long for the event loop. */
export function takesLong(key: KeyObject, values: number): boolean {
  return values * verificationMicroseconds(key) >= longMicroseconds;
}

/** Returns the microseconds that verifying one value of a key takes, at most and roughly. */
export function verificationMicroseconds({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): number {
  const { modulusLength, publicExponent, namedCurve } = asymmetricKeyDetails ?? {};
  if (asymmetricKeyType === 'ed25519' || asymmetricKeyType === 'ed448') return edwardsMicroseconds;
  if (modulusLength === undefined || asymmetricKeyType === 'dsa') return curveMicroseconds.get(namedCurve) ?? otherMicroseconds;
  const exponentBits = publicExponent?.toString(2).length ?? rsa.exponentBits;
  return rsa.microseconds * (modulusLength / rsa.modulusBits) ** 2 * (exponentBits / rsa.exponentBits);
}
