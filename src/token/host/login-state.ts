import { ckr } from '../pkcs11-faults.ts';
import type { Session } from './session.ts';

/** CK_STATE (PKCS#11 v2.40 §3.4). */
const readWriteUser = 3;

/**
 * Checks that a read-write session is logged in as the user. Without a login a token finds no private
 * object, and most tokens say nothing else about it: "not found" means something only after this.
 * @throws {Error} with the code USER_NOT_LOGGED_IN, after which only a new host serves
 */
export function checkLoggedIn({ module, handle }: Session): void {
  const { state } = module.C_GetSessionInfo(handle);
  if (state === readWriteUser) return;
  throw new Error(`CKR_USER_NOT_LOGGED_IN:${ckr.USER_NOT_LOGGED_IN} the session is no longer logged in (its state is ${state})`);
}
