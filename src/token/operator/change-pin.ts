import type { Module } from 'graphene-pk11';
import { reasonOf } from '../../telemetry/reason-of.ts';
import { refusal } from '../host/pin.ts';
import type { RefusedPin } from '../host/refused-pin.ts';
import { pkcs11Code, pkcs11js } from '../host/session.ts';
import { ckr, pinIsRefused } from '../pkcs11-faults.ts';
import { checkPinLength } from './pin-length.ts';
import { TokenFailure } from './token-failure.ts';

interface Change {
  readonly module: Module['lib'];
  readonly slot: Buffer;
  readonly oldPin: Buffer;
  readonly newPin: Buffer;
  readonly refused: RefusedPin;
  /** An earlier attempt was interrupted: the token may have the new PIN already. */
  readonly isRepeated: boolean;
}

/**
 * Changes the user PIN (C_SetPIN, PKCS#11 v2.40 §5.5). Before the token is asked, the old PIN is kept
 * as refused, so that no token host presents it after a kill.
 * @throws {PinRefusedBefore} if the token refused the old PIN before
 * @throws {TokenFailure} `unreachable`: it is not known whether the PIN was changed
 */
export function changePin({ module, slot, oldPin, newPin, refused, isRepeated }: Change): void {
  const { serialNumber: serial, minPinLen: min, maxPinLen: max } = module.C_GetTokenInfo(slot);
  checkPinLength('new PIN', newPin, { min, max });
  const session = module.C_OpenSession(slot, pkcs11js.CKF_SERIAL_SESSION | pkcs11js.CKF_RW_SESSION);
  // pkcs11js accepts PINs as strings only. This process ends right after it has answered.
  const [from, to] = [oldPin, newPin].map((pin) => pin.toString('utf8')) as [string, string];
  try {
    if (isRepeated && hasPin(module, session, to)) return;
    if (!isRepeated) refused.check(serial, oldPin);
    refused.keep(serial, oldPin, ckr.PIN_INCORRECT);
    module.C_SetPIN(session, from, to);
  } catch (error) {
    const code = pkcs11Code(error);
    if (code === undefined) throw error;
    if (code === ckr.PIN_INVALID || code === ckr.PIN_LEN_RANGE) {
      refused.forget();
      throw new TokenFailure('refused', `the token does not accept the new PIN (0x${code.toString(16)}); nothing was changed`);
    }
    if (pinIsRefused(code)) throw new TokenFailure('pinRefused', `${refusal(code)}; nothing was changed`);
    throw new TokenFailure('unreachable', `it is not known whether the PIN was changed: ${reasonOf(error)}; repeat the command`);
  } finally {
    module.C_CloseSession(session);
  }
}

/** Whether the token accepts the PIN. It is presented once. */
function hasPin(module: Module['lib'], session: Buffer, pin: string): boolean {
  try {
    module.C_Login(session, pkcs11js.CKU_USER, pin);
    module.C_Logout(session);
    return true;
  } catch (error) {
    if (pinIsRefused(pkcs11Code(error))) return false;
    throw error;
  }
}
