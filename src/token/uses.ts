import type { KeyType } from '../config/profile.ts';
import type { KeyId } from './key-id.ts';
import type { MessageAlgorithm, MessageKeyType } from './service-keys.ts';
import type { SignatureAlgorithm } from './signature-algorithm.ts';
import type { SecretKind } from './token.ts';

/**
 * Uses of keys as the account of the token host names them, and the records of the audit log too, so that the two can be compared: words with a space
 * between them, the first the kind of use, the second the key (CKA_ID, hexadecimal).
 */

/** `sign <key> <scheme> <hash>:<digest>`: a signature over a digest. */
export function signUse(id: KeyId, { scheme, hash }: SignatureAlgorithm, digest: Uint8Array): string {
  return `sign ${id} ${scheme} ${hash}:${hex(digest)}`;
}

/** `mac <key> <kind of secret> <salt>`: the MAC of a new secret of the key. */
export function macUse(id: KeyId, kind: SecretKind, salt: Uint8Array): string {
  return `mac ${id} ${kind} ${hex(salt)}`;
}

/** `message <key> <scheme>[:<hash>] sha256:<digest of the message>`: a key that signs messages whole. */
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

/** `wrong <key> <count>`: secrets that were compared and wrong. */
export function wrongUse(id: KeyId, count: number): string {
  return `wrong ${id} ${count}`;
}

function hex(bytes: Uint8Array): string {
  if (Buffer.isBuffer(bytes)) return bytes.toString('hex');
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');
}
