import { timingSafeEqual } from 'node:crypto';
import type { Handle } from 'pkcs11js';
import { ckr } from '../pkcs11-faults.ts';
import { pkcs11Code, pkcs11js, type Session } from './session.ts';

/**
 * Mechanisms of HMAC, by hash (PKCS#11 v2.40 Current Mechanisms, §2.20 to §2.22), and the lengths
 * of their values in bytes.
 */
export const hmacs = {
  sha256: { mechanism: pkcs11js.CKM_SHA256_HMAC, bytes: 32 },
  sha384: { mechanism: pkcs11js.CKM_SHA384_HMAC, bytes: 48 },
  sha512: { mechanism: pkcs11js.CKM_SHA512_HMAC, bytes: 64 },
} as const;
export type HmacHash = keyof typeof hmacs;

/** Who compares a MAC with the right one (`macKey.comparedBy` of a profile). */
export type MacComparison = 'token' | 'host';

/**
 * Returns a message with memory behind it, also if it is empty: otherwise the module receives a null
 * pointer, and SoftHSM then leaves the operation open.
 */
export function notNull(message: Buffer): Buffer {
  return message.length === 0 ? Buffer.alloc(1).subarray(0, 0) : message;
}

/** A key for HMAC of the token, as used by one thread. */
export interface HmacKey {
  readonly hash: HmacHash;
  readonly key: Handle;
}

/** Returns the MAC of a message. @throws what the token answers */
export function makeHmac({ module, handle }: Session, { hash, key }: HmacKey, message: Buffer): Buffer {
  const { mechanism, bytes } = hmacs[hash];
  module.C_SignInit(handle, { mechanism }, key);
  return Buffer.from(module.C_Sign(handle, notNull(message), Buffer.alloc(bytes)));
}

/**
 * Whether a MAC is that of the message.
 * @throws what the token answers, but that the MAC is wrong
 */
export function isHmac(session: Session, used: HmacKey, message: Buffer, mac: Buffer, comparedBy: MacComparison): boolean {
  if (comparedBy === 'host') {
    const right = makeHmac(session, used, message);
    return right.length === mac.length && timingSafeEqual(right, mac);
  }
  const { module, handle } = session;
  try {
    module.C_VerifyInit(handle, { mechanism: hmacs[used.hash].mechanism }, used.key);
    return module.C_Verify(handle, notNull(message), mac);
  } catch (error) {
    const code = pkcs11Code(error);
    if (code === ckr.SIGNATURE_INVALID || code === ckr.SIGNATURE_LEN_RANGE) return false;
    throw error;
  }
}
