import type { KeyType } from '../config/key-types.ts';
import type { KeyId } from './key-id.ts';
import type { MessageAlgorithm, MessageKeyType } from './service-keys.ts';
import type { SignatureAlgorithm } from './signature-algorithm.ts';
import type { SecretKind } from './token.ts';

/**
 * Uses of keys as text, in the same form in the token host's account and in the audit log, so that
 * the two can be compared: words separated by a space, first the kind of use, then the key (CKA_ID,
 * hexadecimal).
 */

/** `sign <key> <scheme> <hash>:<digest>`: a signature over a digest. */
export function signUse(id: KeyId, { scheme, hash }: SignatureAlgorithm, digest: Uint8Array): string {
  return `sign ${id} ${scheme} ${hash}:${hex(digest)}`;
}

/** `mac <key> <kind of secret> <salt>`: the MAC of a new secret for the key. */
export function macUse(id: KeyId, kind: SecretKind, salt: Uint8Array): string {
  return `mac ${id} ${kind} ${hex(salt)}`;
}

/**
 * `message <key> <scheme>[:<hash>] sha256:<digest of the message>`: a signature over a whole
 * message.
 */
export function messageUse(id: KeyId, algorithm: MessageAlgorithm, digest: Uint8Array): string {
  return `message ${id} ${algorithm.scheme === 'HMAC' ? `HMAC:${algorithm.hash}` : algorithm.scheme} sha256:${hex(digest)}`;
}

/** `create <key> <type>`. */
export function createUse(id: KeyId, type: KeyType | MessageKeyType['scheme']): string {
  return `create ${id} ${type}`;
}

/** `destroy <key>`. */
export function destroyUse(id: KeyId): string {
  return `destroy ${id}`;
}

/** `wrong <key> <count>`: number of wrong secrets that were compared. */
export function wrongUse(id: KeyId, count: number): string {
  return `wrong ${id} ${count}`;
}

function hex(bytes: Uint8Array): string {
  if (Buffer.isBuffer(bytes)) return bytes.toString('hex');
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');
}
