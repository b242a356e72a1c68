import { randomBytes } from 'node:crypto';

declare const brand: unique symbol;

/**
 * CKA_ID of a key as hexadecimal text: one byte for its owner and purpose, then 16 random bytes.
 * The host uses the first byte to decide what a key may sign. It is set when the key is made, and
 * no request changes it.
 */
export type KeyId = string & { readonly [brand]: 'KeyId' };

/**
 * `service`: a key of signetd itself (CA, OCSP, audit, secrets). `caller`: a key that signs only
 * with its owner's secret; the key of a digital identity is one of them.
 */
export type KeyOwner = 'service' | 'caller';

/**
 * The first byte of each kind of key. Service keys have a purpose, which the host enforces
 * (`host/purposes`).
 */
const kindBytes = {
  caller: 0x43,
  /**
   * A digital identity of 2D-Doc: it signs only data zones, with its password. Operators' commands
   * make it.
   */
  identity: 0x44,
  /** The audit log's checkpoints. */
  audit: 0x41,
  /**
   * A root CA. The service signs its CRLs and OCSP responder certificates with it; an operator's
   * command also signs certificates.
   */
  root: 0x52,
  /**
   * An issuing CA. The service signs CRLs and end-entity certificates with it; an operator's
   * command also signs CA certificates.
   */
  authority: 0x49,
  /** OCSP responses. */
  ocsp: 0x4f,
  /** Time-stamps. */
  timeStamps: 0x54,
  /** HMAC only. */
  mac: 0x4d,
  /** General use: keys of the WebCrypto provider, which sign anything. */
  general: 0x47,
} as const;

/** Purpose of a service key. */
export type KeyPurpose = Exclude<keyof typeof kindBytes, 'caller' | 'identity'>;

/** Kind of a key, as the first byte of its identifier states it. */
export type KeyKind = keyof typeof kindBytes;

/** Service keys without a purpose: the MAC key, and keys made by versions that had no purposes. */
const withoutPurpose = 0x53;

const kinds = new Map<number, KeyKind>(
  // Object.entries of a record loses the type of its keys.
  Object.entries(kindBytes).map(([kind, byte]) => [byte, kind as KeyKind]),
);

/**
 * A message that every service key signs, whatever its purpose, and that means nothing else: it
 * shows whether the key is present and whether it belongs to a given certificate.
 */
export const keyTrial = Buffer.from('signetd: is the key there?\n');

export const keyIdLength = 17;

/** What the identifiers of the token's MAC keys begin with: no other key of the service has it. */
const macKeyPrefix = `53${'00'.repeat(12)}`;

/**
 * The token's MAC keys have fixed identifiers, which end with their number (`mac-generation.ts`), so
 * that they are found without any state.
 */
export function macKeyIdOf(generation: number): KeyId {
  return `${macKeyPrefix}${generation.toString(16).padStart(8, '0')}` as KeyId;
}

/** The first MAC key. */
export const macKeyId = macKeyIdOf(0);

export function isMacKeyId(id: KeyId): boolean {
  return id.startsWith(macKeyPrefix);
}

export function newKeyId(kind: KeyKind): KeyId {
  return Buffer.concat([Buffer.of(kindBytes[kind]), randomBytes(keyIdLength - 1)]).toString('hex') as KeyId;
}

/** @throws {RangeError} if the bytes are not a signetd key identifier */
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

/** Whether CKA_ID, at the beginning of these bytes, is that of a caller's key of no identity. */
export function isCallersKey(bytes: Uint8Array): boolean {
  return bytes[0] === kindBytes.caller;
}

export function keyOwner(id: KeyId): KeyOwner {
  return id.startsWith('43') || isIdentityKey(id) ? 'caller' : 'service';
}

/** Whether this is the key of a digital identity, which signs only data zones of 2D-Doc. */
export function isIdentityKey(id: KeyId): boolean {
  return id.startsWith('44');
}

/**
 * Purpose of a service key; undefined for a caller's key, the MAC key, and a key made before keys
 * had purposes.
 */
export function keyPurpose(id: KeyId): KeyPurpose | undefined {
  const kind = kinds.get(Number.parseInt(id.slice(0, 2), 16));
  return kind === 'caller' || kind === 'identity' ? undefined : kind;
}

/** Whether this is a service key from before keys had purposes. */
export function lacksPurpose(id: KeyId): boolean {
  return id.startsWith('53') && !isMacKeyId(id);
}

/** The identifier that such a key gets with its purpose: the random bytes stay the same. */
export function withPurpose(id: KeyId, purpose: KeyPurpose): KeyId {
  return keyIdOf(Buffer.concat([Buffer.of(kindBytes[purpose]), keyIdBytes(id).subarray(1)]));
}
