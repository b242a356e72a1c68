import { randomBytes } from 'node:crypto';

declare const brand: unique symbol;

/**
 * CKA_ID of a key as hexadecimal text: one byte that says whose key it is, then 16 random bytes.
 * The first byte is what the host goes by when it decides whether a signature needs a proof.
 */
export type KeyId = string & { readonly [brand]: 'KeyId' };

/** `service`: keys of signetd itself (CA, OCSP, audit, secrets). `caller`: a key that signs only with its owner's secret. */
export type KeyOwner = 'service' | 'caller';

const ownerBytes = { service: 0x53, caller: 0x43 } as const satisfies Record<KeyOwner, number>;

export const keyIdLength = 17;

/** The MAC key of the token has a fixed identifier, so that it is found without any state. */
export const macKeyId = `53${'00'.repeat(16)}` as KeyId;

export function newKeyId(owner: KeyOwner): KeyId {
  return Buffer.concat([Buffer.of(ownerBytes[owner]), randomBytes(keyIdLength - 1)]).toString('hex') as KeyId;
}

/** @throws {RangeError} where the bytes are no identifier of ours. */
export function keyIdOf(bytes: Uint8Array): KeyId {
  if (bytes.length !== keyIdLength || (bytes[0] !== ownerBytes.service && bytes[0] !== ownerBytes.caller)) {
    throw new RangeError('not the CKA_ID of a signetd key');
  }
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex') as KeyId;
}

/** CKA_ID itself: 17 bytes. */
export function keyIdBytes(id: KeyId): Buffer {
  return Buffer.from(id, 'hex');
}

export function parseKeyId(text: string): KeyId {
  return keyIdOf(Buffer.from(text, 'hex'));
}

export function keyOwner(id: KeyId): KeyOwner {
  return id.startsWith('43') ? 'caller' : 'service';
}
