import * as der from './der.ts';

/**
 * Returns ECDSA-Sig-Value (RFC 3279 §2.2.3) for r‖s of fixed width.
 * @throws {RangeError} if the value has no such halves
 */
export function ecdsaValueToDer(value: Uint8Array): Uint8Array {
  if (value.length === 0 || value.length % 2 !== 0) throw new RangeError('r‖s has an even length');
  const half = value.length / 2;
  return der.sequence(der.integer(value.subarray(0, half)), der.integer(value.subarray(half)));
}
