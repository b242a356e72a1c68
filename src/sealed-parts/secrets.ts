import { createHmac } from 'node:crypto';

/**
 * The MAC of a message under a key that never leaves the token, 32 bytes: what identifiers and keys
 * of sealed parts follow from.
 */
export type TokenMac = (message: Uint8Array) => Promise<Uint8Array>;

/**
 * A secret for one use (HMAC-SHA256, 32 bytes). Uses are told apart by their names; `more`: what
 * else it follows from.
 */
export function derivedSecret(secret: Uint8Array, use: string, more: Uint8Array = new Uint8Array()): Buffer<ArrayBuffer> {
  return Buffer.from(createHmac('sha256', secret).update(`${use};`).update(more).digest());
}
