import { ckr } from '../pkcs11-faults.ts';
import { pkcs11Code } from '../host/session.ts';
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

/** Meanings of codes that are reported by name. */
const meanings: Readonly<Record<number, string>> = {
  [ckr.HOST_MEMORY]: 'the module has too little memory',
  [ckr.GENERAL_ERROR]:
    'the module failed and does not say why; often its configuration, the directory of a software token, or the connection to the device cannot be used',
  [ckr.FUNCTION_FAILED]: 'the module failed and does not say why',
  [ckr.DEVICE_MEMORY]: 'the device has too little memory',
  [ckr.SESSION_HANDLE_INVALID]: 'the session is lost',
  [ckr.TOKEN_NOT_RECOGNIZED]: 'the token in the slot is unknown to the module',
};

/**
 * @param code a CKR_ value, if known
 * @param text the message of pkcs11js
 * @param call the function of PKCS#11, if known
 */
export function faultWords(code: number | undefined, text: string, call?: string): { readonly kind: FailureKind; readonly text: string } {
  if (code === initPinMissing) return { kind: 'pinRefused', text: 'the token has no user PIN yet: signetctl token init sets one' };
  const known = code === undefined ? undefined : words[code];
  const prefix = call === undefined ? '' : `${call}: `;
  if (known !== undefined) return { kind: known.kind, text: `${prefix}${known.text}` };
  const name = /CKR_[A-Z0-9_]+/.exec(text)?.[0];
  const hexadecimal = code === undefined || code === 0xffffffff ? undefined : `0x${code.toString(16)}`;
  if (name === undefined && hexadecimal === undefined) return { kind: 'unreachable', text };
  const meaning = code === undefined ? undefined : meanings[code];
  const returned = `the PKCS#11 module returned ${[name, hexadecimal].filter(Boolean).join(', ')}`;
  return { kind: 'unreachable', text: `${prefix}${returned}${meaning === undefined ? '' : `: ${meaning}`}` };
}

/** Describes an error of the module in the words of `faultWords`, with the call that failed; other errors as they are. */
export function moduleFaultWords(error: unknown): { readonly kind: FailureKind; readonly text: string } {
  const code = pkcs11Code(error);
  // A text that quotes a code is one of ours.
  return code === undefined ? { kind: 'unreachable', text: reasonOf(error) } : faultWords(code, reasonOf(error), callOf(error));
}

/** The function of PKCS#11 that failed, which pkcs11js names. */
function callOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('method' in error)) return undefined;
  return typeof error.method === 'string' && /^C_\w+$/.test(error.method) ? error.method : undefined;
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
