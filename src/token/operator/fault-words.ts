import { ckr } from '../pkcs11-faults.ts';
import type { FailureKind } from './token-failure.ts';

/** What an operator can do about an answer of PKCS#11; others are told by their names. */
const words: Readonly<Record<number, { readonly kind: FailureKind; readonly text: string }>> = {
  [ckr.PIN_INCORRECT]: { kind: 'pinRefused', text: 'the token refuses the PIN; it was tried once and is not tried again' },
  [ckr.PIN_INVALID]: { kind: 'pinRefused', text: 'the PIN has characters that the token does not take' },
  [ckr.PIN_LEN_RANGE]: { kind: 'pinRefused', text: 'the PIN is too short or too long for the token' },
  [ckr.PIN_EXPIRED]: { kind: 'pinRefused', text: 'the PIN has expired: the token wants a new one' },
  [ckr.PIN_LOCKED]: {
    kind: 'pinRefused',
    text: 'the PIN is locked after too many wrong attempts: the security officer must set a new one',
  },
  [ckr.DEVICE_ERROR]: { kind: 'unreachable', text: 'the device reports an error (CKR_DEVICE_ERROR)' },
  [ckr.DEVICE_REMOVED]: { kind: 'unreachable', text: 'the device is gone (CKR_DEVICE_REMOVED)' },
  [ckr.TOKEN_NOT_PRESENT]: { kind: 'unreachable', text: 'there is no token in the slot (CKR_TOKEN_NOT_PRESENT)' },
};
const initPinMissing = 0x102;

/** @param code a CKR_ value, where one is known; `text` is what pkcs11js said */
export function faultWords(code: number | undefined, text: string): { readonly kind: FailureKind; readonly text: string } {
  if (code === initPinMissing) return { kind: 'pinRefused', text: 'the token has no user PIN yet: signetctl token init sets one' };
  const known = code === undefined ? undefined : words[code];
  if (known !== undefined) return known;
  const name = /CKR_[A-Z0-9_]+/.exec(text)?.[0];
  const hexadecimal = code === undefined || code === 0xffffffff ? undefined : `0x${code.toString(16)}`;
  if (name === undefined && hexadecimal === undefined) return { kind: 'unreachable', text };
  return { kind: 'unreachable', text: `the PKCS#11 module answers ${[name, hexadecimal].filter(Boolean).join(', ')}` };
}
