import { createHash, webcrypto } from 'node:crypto';
import { types } from 'node:util';
import type { HashName } from '../token/signature-algorithm.ts';

/**
 * Shorter data is hashed synchronously, longer data on Node's thread pool, so that the event loop
 * does not wait.
 */
const hashedInPlaceBytes = 64 * 1024;
const registered = { sha1: 'SHA-1', sha256: 'SHA-256', sha384: 'SHA-384', sha512: 'SHA-512' } as const satisfies Record<HashName, string>;

export function isBufferSource(value: object): value is webcrypto.BufferSource {
  return ArrayBuffer.isView(value) || types.isArrayBuffer(value);
}

/** Returns the bytes of a BufferSource without copying. @throws TypeError for anything else */
function bytesOf(source: webcrypto.BufferSource): Buffer {
  if (ArrayBuffer.isView(source)) return Buffer.from(source.buffer, source.byteOffset, source.byteLength);
  if (types.isArrayBuffer(source)) return Buffer.from(source);
  throw new TypeError('not a BufferSource');
}

/**
 * Returns a copy of the bytes of a BufferSource, since its owner may change it while a call runs.
 */
export function copyOf(source: webcrypto.BufferSource): Buffer {
  return Buffer.from(bytesOf(source));
}

export function arrayBufferOf(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer;
}

/** Returns the digest of the bytes as they are at the time of the call. */
export async function digestOf(hash: HashName, source: webcrypto.BufferSource): Promise<Uint8Array> {
  const bytes = bytesOf(source);
  if (bytes.length <= hashedInPlaceBytes) return createHash(hash).update(bytes).digest();
  return new Uint8Array(await webcrypto.subtle.digest(registered[hash], bytes));
}
