import { createHmac } from 'node:crypto';

/**
 * Returns the MAC of a message under a key that never leaves the token, 32 bytes. Identifiers and
 * keys of sealed parts are derived from it.
 */
export type TokenMac = (message: Uint8Array) => Promise<Uint8Array>;

/**
 * Derives a secret for one use (HMAC-SHA256, 32 bytes). Uses are distinguished by name; `more`:
 * further input.
 */
export function derivedSecret(secret: Uint8Array, use: string, more: Uint8Array = new Uint8Array()): Buffer<ArrayBuffer> {
  return Buffer.from(createHmac('sha256', secret).update(`${use};`).update(more).digest());
}
