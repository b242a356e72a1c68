import type { KeyType } from '../config/key-types.ts';
import type { KeyId } from './key-id.ts';
import type { SignatureAlgorithm } from './signature-algorithm.ts';
import type { Token } from './token.ts';

/** Hash functions of HMAC keys, as named in node:crypto. */
export const macHashes = ['sha256', 'sha384', 'sha512'] as const;
export type MacHash = (typeof macHashes)[number];

/**
 * Algorithms that take the whole message instead of its digest: Ed25519 (RFC 8032 §5.1), HMAC (RFC
 * 2104).
 */
export type MessageAlgorithm = { readonly scheme: 'Ed25519' } | { readonly scheme: 'HMAC'; readonly hash: MacHash };

/**
 * Type of a new message key. The length of an HMAC key is in bytes, at least the length of its
 * hash.
 */
export type MessageKeyType = { readonly scheme: 'Ed25519' } | { readonly scheme: 'HMAC'; readonly hash: MacHash; readonly bytes: number };

/**
 * The part of the token that signs messages instead of digests, with service keys only. It rejects
 * as `Token` does.
 */
export interface MessageToken {
  /**
   * Makes a sensitive, non-extractable key for this one mechanism. Returns the SubjectPublicKeyInfo
   * for Ed25519, no bytes for HMAC.
   */
  createMessageKey(id: KeyId, type: MessageKeyType): Promise<Uint8Array>;
  /**
   * Returns 64 bytes for Ed25519 (RFC 8032 §5.1.6), or the length of the hash for HMAC.
   * @throws {RangeError} over `maxMessageBytes`
   */
  signMessage(id: KeyId, algorithm: MessageAlgorithm, message: Uint8Array): Promise<Uint8Array>;
  /** Whether the MAC is correct; the token compares. @throws {RangeError} over `maxMessageBytes` */
  verifyMac(id: KeyId, hash: MacHash, message: Uint8Array, mac: Uint8Array): Promise<boolean>;
}

/**
 * The token as the WebCrypto provider uses it: one call for each key and each signature. It rejects
 * as `Token` does.
 */
export interface ServiceKeys extends MessageToken {
  /** Returns the SubjectPublicKeyInfo. */
  createKey(id: KeyId, type: KeyType): Promise<Uint8Array>;
  /** Destroys a private key or an HMAC key. A missing key is not an error. */
  destroyKey(id: KeyId): Promise<void>;
  signDigest(id: KeyId, algorithm: SignatureAlgorithm, digest: Uint8Array): Promise<Uint8Array>;
}

export function serviceKeys(token: Pick<Token, 'createKey' | 'destroyKey' | 'signDigests'>, messages: MessageToken): ServiceKeys {
  return {
    createKey: async (id, type) => token.createKey(id, type),
    destroyKey: async (id) => token.destroyKey(id),
    async signDigest(id, algorithm, digest) {
      const [value] = await token.signDigests(id, algorithm, [digest]);
      if (value === undefined) throw new Error('the token returned no signature value');
      return value;
    },
    createMessageKey: async (id, type) => messages.createMessageKey(id, type),
    signMessage: async (id, algorithm, message) => messages.signMessage(id, algorithm, message),
    verifyMac: async (id, hash, message, mac) => messages.verifyMac(id, hash, message, mac),
  };
}
