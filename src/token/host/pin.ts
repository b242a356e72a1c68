import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { ckr, pinIsRefused } from '../pkcs11-faults.ts';
import { PinRefusedBefore, type RefusedPin } from './refused-pin.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';

/** Exports of `native/pin.c`. */
interface PinNative {
  /**
   * C_Login of the module that this process has loaded from the path.
   * @throws {Error} with the CKR_ value as its `code`
   */
  logIn(modulePath: string, session: Uint8Array, userType: number, pin: Uint8Array): void;
  /**
   * Whether a POSIX extended regular expression matches the bytes.
   * @throws {Error} if it is invalid
   */
  matches(pattern: string, bytes: Uint8Array): boolean;
}

/** Built by packaging/bootstrap.sh. */
const file = fileURLToPath(new URL('../../../dist/pin.node', import.meta.url));
let loaded: PinNative | undefined;

function native(): PinNative {
  // A native module has no types; this interface describes the C source.
  loaded ??= createRequire(import.meta.url)(file) as PinNative;
  return loaded;
}

/**
 * Logs a session in as the user, unless the token has refused this PIN before. A refusal is on the
 * disk when this throws. Wipes the PIN whatever the result.
 * @throws {PinRefusedBefore}
 * @throws {WrongPin} if the refusal cannot be kept
 * @throws {Error} with a CKR_ value as its `code`
 */
export function logInOnce(session: Session, modulePath: string, pin: Uint8Array, { serial, refused }: PinKeeping): void {
  try {
    refused.check(serial, pin);
    native().logIn(modulePath, session.handle, pkcs11js.CKU_USER, pin);
  } catch (error) {
    const code = pkcs11Code(error);
    if (code === undefined || !pinIsRefused(code)) throw error;
    try {
      refused.keep(serial, pin, code);
    } catch (fault) {
      // Whatever else is wrong, nobody may start again with this PIN by himself.
      throw new WrongPin(`${refusal(code)}, and this could not be kept: ${reasonOf(fault)}`, { cause: error });
    }
    throw error;
  } finally {
    pin.fill(0);
  }
}

/**
 * The token refuses the PIN. It is not tried again until an operator intervenes: each attempt
 * brings the token closer to being locked.
 */
export class WrongPin extends Error {}

export const refusal = (code: number | undefined): string => `the token refuses the PIN (0x${code?.toString(16)})`;

/** The token that a PIN is for, and where its refusals are kept. */
export interface PinKeeping {
  /** CK_TOKEN_INFO.serialNumber. */
  readonly serial: string;
  readonly refused: RefusedPin;
}

/**
 * Logs the process in: once, through the anchor session. It never logs out, which would invalidate
 * all private handles of the process. Wipes the PIN.
 * @throws {WrongPin} if the token refuses it, or did so before: then it is not presented again
 */
export function logIn(anchor: Session, modulePath: string, pin: Uint8Array, keeping: PinKeeping): void {
  try {
    logInOnce(anchor, modulePath, pin, keeping);
  } catch (error) {
    if (error instanceof PinRefusedBefore) throw new WrongPin(error.message, { cause: error });
    const code = pkcs11Code(error);
    if (code === ckr.USER_ALREADY_LOGGED_IN) return;
    if (pinIsRefused(code)) throw new WrongPin(refusal(code), { cause: error });
    throw error;
  }
}

/** Whether a PIN matches a pattern (`isPattern`). */
export function hasForm(pattern: string, pin: Uint8Array): boolean {
  return native().matches(pattern, pin);
}

/** Whether this is a pattern for `hasForm`. */
export function isPattern(text: string): boolean {
  try {
    hasForm(text, new Uint8Array());
    return true;
  } catch {
    return false;
  }
}
