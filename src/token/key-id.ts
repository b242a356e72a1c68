import { randomBytes } from 'node:crypto';

declare const brand: unique symbol;

/**
 * CKA_ID of a key as hexadecimal text: one byte that says whose key it is and what it is for, then 16 random bytes.
 * The first byte is what the host goes by when it decides what a key may sign. It is written when the key is made, and no request changes it.
 */
export type KeyId = string & { readonly [brand]: 'KeyId' };

/** `service`: keys of signetd itself (CA, OCSP, audit, secrets). `caller`: a key that signs only with its owner's secret. */
export type KeyOwner = 'service' | 'caller';

/** The first byte of each kind of key. Those of the service have a purpose, which the host enforces (`host/purposes`). */
const kindBytes = {
  caller: 0x43,
  /** The audit log's checkpoints. */
  audit: 0x41,
  /** A root: for the service its CRLs and the certificates of its OCSP responders, for an operator's command also certificates. */
  root: 0x52,
  /** An issuing CA: for the service CRLs and certificates that are no CA's, for an operator's command also those. */
  authority: 0x49,
  /** OCSP answers. */
  ocsp: 0x4f,
  /** Time-stamps. */
  timeStamps: 0x54,
  /** HMAC alone. */
  mac: 0x4d,
  /** Whatever who uses it wants signed: keys of the WebCrypto provider. None of those above. */
  general: 0x47,
} as const;

/** What a key of the service is for. */
export type KeyPurpose = Exclude<keyof typeof kindBytes, 'caller'>;

/** Keys of the service that have no purpose: the MAC key, and what versions before purposes made. */
const withoutPurpose = 0x53;

const kinds = new Map<number, keyof typeof kindBytes>(
  // Object.entries of a record loses the type of its keys.
  Object.entries(kindBytes).map(([kind, byte]) => [byte, kind as keyof typeof kindBytes]),
);

/**
 * What every key of the service signs, whatever its purpose: text that is nothing else, by which its holder sees whether the key is there, and whether it
 * is that of a certificate.
 */
export const keyTrial = Buffer.from('signetd: is the key there?\n');

export const keyIdLength = 17;

/** The MAC key of the token has a fixed identifier, so that it is found without any state. */
export const macKeyId = `53${'00'.repeat(16)}` as KeyId;

export function newKeyId(kind: KeyPurpose | 'caller'): KeyId {
  return Buffer.concat([Buffer.of(kindBytes[kind]), randomBytes(keyIdLength - 1)]).toString('hex') as KeyId;
}

/** @throws {RangeError} where the bytes are no identifier of ours. */
export function keyIdOf(bytes: Uint8Array): KeyId {
  const [first = 0] = bytes;
  if (bytes.length !== keyIdLength || (first !== withoutPurpose && !kinds.has(first))) {
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

/** What a key of the service is for; undefined for a caller's, for the MAC key, and for one that was made before keys had purposes. */
export function keyPurpose(id: KeyId): KeyPurpose | undefined {
  const kind = kinds.get(Number.parseInt(id.slice(0, 2), 16));
  return kind === 'caller' ? undefined : kind;
}

/** Whether this is a key of the service from before keys had purposes. */
export function lacksPurpose(id: KeyId): boolean {
  return id.startsWith('53') && id !== macKeyId;
}

/** The identifier that such a key gets with its purpose: the random bytes stay. */
export function withPurpose(id: KeyId, purpose: KeyPurpose): KeyId {
  return keyIdOf(Buffer.concat([Buffer.of(kindBytes[purpose]), keyIdBytes(id).subarray(1)]));
}
