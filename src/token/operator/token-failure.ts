import { ckr } from '../pkcs11-faults.ts';
import { readSecretBytes } from '../../config/secret-reference.ts';
import { reasonOf } from '../../telemetry/reason-of.ts';

/**
 * `unreachable`: no module, no token or no answer. `pinRefused`: the PIN was tried once. `refused`:
 * the current state forbids it. `configuration`: something that the configuration names cannot be
 * used.
 */
export const failureKinds = ['unreachable', 'pinRefused', 'refused', 'configuration'] as const;
export type FailureKind = (typeof failureKinds)[number];

/**
 * Reason why an operator's question to the token failed: one sentence, with the remedy if there is
 * one.
 */
export class TokenFailure extends Error {
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string) {
    super(message);
    this.name = 'TokenFailure';
    this.kind = kind;
  }
}

/** Messages for PKCS#11 codes that an operator can act on; other codes are reported by name. */
const words: Readonly<Record<number, { readonly kind: FailureKind; readonly text: string }>> = {
  [ckr.PIN_INCORRECT]: { kind: 'pinRefused', text: 'the token refuses the PIN; it was tried once and will not be tried again' },
  [ckr.PIN_INVALID]: { kind: 'pinRefused', text: 'the PIN contains characters that the token does not accept' },
  [ckr.PIN_LEN_RANGE]: { kind: 'pinRefused', text: 'the PIN is too short or too long for the token' },
  [ckr.PIN_EXPIRED]: { kind: 'pinRefused', text: 'the PIN has expired: the token requires a new one' },
  [ckr.PIN_LOCKED]: {
    kind: 'pinRefused',
    text: 'the PIN is locked after too many wrong attempts: the security officer must set a new one',
  },
  [ckr.DEVICE_ERROR]: { kind: 'unreachable', text: 'the device reports an error (CKR_DEVICE_ERROR)' },
  [ckr.DEVICE_REMOVED]: { kind: 'unreachable', text: 'the device is gone (CKR_DEVICE_REMOVED)' },
  [ckr.TOKEN_NOT_PRESENT]: { kind: 'unreachable', text: 'there is no token in the slot (CKR_TOKEN_NOT_PRESENT)' },
};
const initPinMissing = 0x102;

/** @param code a CKR_ value, if known @param text the message of pkcs11js */
export function faultWords(code: number | undefined, text: string): { readonly kind: FailureKind; readonly text: string } {
  if (code === initPinMissing) return { kind: 'pinRefused', text: 'the token has no user PIN yet: signetctl token init sets one' };
  const known = code === undefined ? undefined : words[code];
  if (known !== undefined) return known;
  const name = /CKR_[A-Z0-9_]+/.exec(text)?.[0];
  const hexadecimal = code === undefined || code === 0xffffffff ? undefined : `0x${code.toString(16)}`;
  if (name === undefined && hexadecimal === undefined) return { kind: 'unreachable', text };
  return { kind: 'unreachable', text: `the PKCS#11 module returned ${[name, hexadecimal].filter(Boolean).join(', ')}` };
}

/**
 * Reads the PIN that a reference names, whoever owns the file: root runs signetctl, and the PIN is
 * the service's. The caller must wipe it.
 * @throws {TokenFailure} that names the reference, never its content
 */
export function pinFrom(reference: string): Buffer {
  try {
    return readSecretBytes(reference, 'anyone');
  } catch (error) {
    throw new TokenFailure('configuration', reasonOf(error));
  }
}
