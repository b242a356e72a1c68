import type { KeyObject } from 'node:crypto';

/** Microseconds that OpenSSL takes for one value of a curve, on a machine of today. P-256 is the one that it has code of its own for. */
const curveMicroseconds = new Map<string | undefined, number>([
  ['prime256v1', 80],
  ['secp384r1', 900],
  ['secp521r1', 2000],
]);
const otherMicroseconds = 2000;
/** RSA of 2048 bits with 65537, which has 17 bits; the time grows with the square of the modulus and with the exponent. */
const rsa = { microseconds: 25, modulusBits: 2048, exponentBits: 17 } as const;
/** Below this much of its time the event loop is not held up, and a thread would cost more than it takes off. */
const longMicroseconds = 5000;

/** Whether to verify so many values of a key takes too long for the event loop. */
export function takesLong(key: KeyObject, values: number): boolean {
  return values * microsecondsOf(key) >= longMicroseconds;
}

function microsecondsOf({ asymmetricKeyDetails }: KeyObject): number {
  const { modulusLength, publicExponent, namedCurve } = asymmetricKeyDetails ?? {};
  if (modulusLength === undefined) return curveMicroseconds.get(namedCurve) ?? otherMicroseconds;
  const exponentBits = publicExponent?.toString(2).length ?? rsa.exponentBits;
  return rsa.microseconds * (modulusLength / rsa.modulusBits) ** 2 * (exponentBits / rsa.exponentBits);
}
