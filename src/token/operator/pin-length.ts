import { TokenFailure } from './token-failure.ts';

/** Lengths that a token says it accepts (CK_TOKEN_INFO, PKCS#11 v2.40 §3.2). */
export interface PinLength {
  readonly min: number;
  readonly max: number;
}

/** CK_UNAVAILABLE_INFORMATION, as far as pkcs11js passes it on. */
const unavailable = 0xffffffff;

/**
 * Checks the length of a PIN before the token is asked. Some tokens do not say what they accept at
 * most: 0 (CK_EFFECTIVELY_INFINITE) or CK_UNAVAILABLE_INFORMATION.
 * @throws {TokenFailure} `refused`
 */
export function checkPinLength(name: string, pin: Uint8Array, { min, max }: PinLength): void {
  const hasMax = max > 0 && max < unavailable;
  const hasMin = min < unavailable;
  if ((hasMin && pin.length < min) || (hasMax && pin.length > max))
    throw new TokenFailure(
      'refused',
      `the ${name} has ${pin.length} characters; the token accepts ${hasMax ? `${min} to ${max}` : `at least ${min}`}`,
    );
}
