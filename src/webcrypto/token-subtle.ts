import { webcrypto } from 'node:crypto';
import { types } from 'node:util';
import type { ServiceKeys } from '../token/service-keys.ts';
import { hashBytes } from '../token/signature-algorithm.ts';
import { signingAlgorithm } from './algorithms.ts';
import { arrayBufferOf, copyOf, digestOf, isBufferSource } from './bytes.ts';
import { generationSpecification, tokenAlgorithm } from './key-specification.ts';
import { onToken, refusal } from './refusal.ts';
import { SigningOnly } from './signing-only.ts';
import type { TokenKeys, TokenKeyState } from './token-keys.ts';

const software = webcrypto.subtle;

type Identifier = webcrypto.AlgorithmIdentifier;
type GeneratedKey = webcrypto.CryptoKey | webcrypto.CryptoKeyPair;

/**
 * SubtleCrypto (W3C Web Cryptography §14) whose private and HMAC keys are on the token. Node
 * computes digests, and verifies with, imports and exports public keys. Errors are DOMExceptions
 * with the names of the standard; OperationError, with its cause, if the token fails.
 */
export class TokenSubtle extends SigningOnly implements webcrypto.SubtleCrypto {
  readonly #token: ServiceKeys;
  readonly #keys: TokenKeys;

  constructor(token: ServiceKeys, keys: TokenKeys) {
    super();
    this.#token = token;
    this.#keys = keys;
  }

  /**
   * Makes a key on the token, announced in the journal until it is kept or destroyed.
   * @throws NotSupportedError for `extractable`
   */
  async generateKey(
    algorithm: webcrypto.RsaHashedKeyGenParams | webcrypto.EcKeyGenParams,
    extractable: boolean,
    keyUsages: readonly webcrypto.KeyUsage[],
  ): Promise<webcrypto.CryptoKeyPair>;
  async generateKey(
    algorithm: webcrypto.HmacKeyGenParams,
    extractable: boolean,
    keyUsages: readonly webcrypto.KeyUsage[],
  ): Promise<webcrypto.CryptoKey>;
  async generateKey(algorithm: Identifier, extractable: boolean, keyUsages: readonly webcrypto.KeyUsage[]): Promise<GeneratedKey>;
  async generateKey(algorithm: Identifier, extractable: boolean, keyUsages: readonly webcrypto.KeyUsage[]): Promise<GeneratedKey> {
    const specification = generationSpecification(algorithm);
    if (keyUsages.some((usage) => usage !== 'sign' && usage !== 'verify')) {
      throw refusal('SyntaxError', 'keys of this algorithm can only sign and verify');
    }
    const usable = specification.name === 'HMAC' ? keyUsages.length > 0 : keyUsages.includes('sign');
    if (!usable) throw refusal('SyntaxError', 'the private or secret key would have no usage');
    if (extractable) throw refusal('NotSupportedError', 'keys cannot leave the token: extractable must be false');
    return this.#keys.create(specification, [...new Set(keyUsages)]);
  }

  /**
   * Hashes in this process and asks the token for one private-key operation. ECDSA values are r‖s,
   * each as long as the order of the curve.
   */
  async sign(
    algorithm: Identifier | webcrypto.RsaPssParams | webcrypto.EcdsaParams,
    key: webcrypto.CryptoKey,
    data: webcrypto.BufferSource,
  ): Promise<ArrayBuffer> {
    const normalized = signingAlgorithm(algorithm);
    const { id, specification } = this.#usable(key, 'sign');
    const asked = tokenAlgorithm(specification, normalized);
    if (asked.scheme === 'Ed25519' || asked.scheme === 'HMAC') {
      const message = copyOf(data);
      return arrayBufferOf(await onToken(async () => this.#token.signMessage(id, asked, message)));
    }
    const digest = await digestOf(asked.hash, data);
    return arrayBufferOf(await onToken(async () => this.#token.signDigest(id, asked, digest)));
  }

  /** Verifies a signature; false for a wrong one, of any length. */
  async verify(
    algorithm: Identifier | webcrypto.RsaPssParams | webcrypto.EcdsaParams,
    key: webcrypto.CryptoKey,
    signature: webcrypto.BufferSource,
    data: webcrypto.BufferSource,
  ): Promise<boolean> {
    if (this.#keys.find(key) === undefined) return software.verify(algorithm, softwarePublicKey(key), signature, data);
    const normalized = signingAlgorithm(algorithm);
    const { id, specification } = this.#usable(key, 'verify');
    const asked = tokenAlgorithm(specification, normalized);
    if (asked.scheme !== 'HMAC') throw refusal('InvalidAccessError', 'a private key does not verify');
    const [message, mac] = [copyOf(data), copyOf(signature)];
    return mac.length === hashBytes[asked.hash] && onToken(async () => this.#token.verifyMac(id, asked.hash, message, mac));
  }

  async digest(algorithm: Identifier, data: webcrypto.BufferSource): Promise<ArrayBuffer> {
    return software.digest(algorithm, data);
  }

  /** Imports a public key into software. @throws NotSupportedError for private and secret keys */
  async importKey(
    format: webcrypto.KeyFormat,
    keyData: webcrypto.BufferSource | webcrypto.JsonWebKey,
    algorithm: Identifier | webcrypto.RsaHashedImportParams | webcrypto.EcKeyImportParams,
    extractable: boolean,
    keyUsages: readonly webcrypto.KeyUsage[],
  ): Promise<webcrypto.CryptoKey> {
    const usages = [...keyUsages];
    if (format === 'jwk') {
      if (isBufferSource(keyData)) throw new TypeError('a JWK is not a BufferSource');
      checkPublicJwk(keyData);
      return checkPublic(await software.importKey(format, keyData, algorithm, extractable, usages));
    }
    checkPublicFormat(format);
    if (!isBufferSource(keyData)) throw new TypeError(`the key data for ${format} must be a BufferSource`);
    return checkPublic(await software.importKey(format, keyData, algorithm, extractable, usages));
  }

  /**
   * Exports a public key.
   * @throws InvalidAccessError for a key on the token, and for any other key that is not public
   */
  async exportKey(format: 'jwk', key: webcrypto.CryptoKey): Promise<webcrypto.JsonWebKey>;
  async exportKey(format: Exclude<webcrypto.KeyFormat, 'jwk'>, key: webcrypto.CryptoKey): Promise<ArrayBuffer>;
  async exportKey(format: webcrypto.KeyFormat, key: webcrypto.CryptoKey): Promise<ArrayBuffer | webcrypto.JsonWebKey> {
    const publicKey = softwarePublicKey(key);
    return format === 'jwk' ? software.exportKey('jwk', publicKey) : software.exportKey(format, publicKey);
  }

  /**
   * Returns the public key of a private key on the token.
   * @throws InvalidAccessError for other keys
   */
  async getPublicKey(key: webcrypto.CryptoKey, keyUsages: readonly webcrypto.KeyUsage[]): Promise<webcrypto.CryptoKey> {
    const publicKey = this.#keys.find(key)?.publicKey;
    if (publicKey === undefined) throw refusal('InvalidAccessError', 'not a private key of this provider');
    const subjectPublicKeyInfo = await software.exportKey('spki', publicKey);
    return software.importKey('spki', subjectPublicKeyInfo, publicKey.algorithm, true, [...keyUsages]);
  }

  /**
   * Returns the state of a key that may be used.
   * @throws InvalidAccessError for keys of another provider, destroyed keys, and usages that the
   *   key does not have (§14.3.3)
   */
  #usable(key: webcrypto.CryptoKey, usage: 'sign' | 'verify'): TokenKeyState {
    const state = this.#keys.find(key);
    if (state === undefined) throw refusal('InvalidAccessError', 'the key does not belong to this provider');
    if (state.destroyed) throw refusal('InvalidAccessError', 'the key is destroyed');
    if (!state.usages.has(usage)) throw refusal('InvalidAccessError', `the key does not have the usage ${usage}`);
    return state;
  }
}

const publicFormats: readonly string[] = ['spki', 'raw', 'raw-public'];
/** Members of a JWK that only a private or secret key has (RFC 7518 §6.2.2, §6.3.2, §6.4.1). */
const privateMembers = ['d', 'k', 'p', 'q', 'dp', 'dq', 'qi', 'priv'];

/** Checks that a key is a public key in software. @throws InvalidAccessError for any other key */
function softwarePublicKey(key: webcrypto.CryptoKey): webcrypto.CryptoKey {
  if (!types.isCryptoKey(key) || key.type !== 'public') throw refusal('InvalidAccessError', 'not a public key in software');
  return key;
}

/**
 * Checks that a format is for public keys.
 * @throws NotSupportedError for formats of private and secret keys, which would then be in software
 */
function checkPublicFormat(format: webcrypto.KeyFormat): void {
  if (!publicFormats.includes(format)) throw publicAlone();
}

/**
 * Checks that a JWK is public.
 * @throws NotSupportedError if it has a member of a private or secret key
 */
function checkPublicJwk(key: webcrypto.JsonWebKey): void {
  if (privateMembers.some((member) => member in key)) throw publicAlone();
}

/**
 * Checks that an imported key is public, since some algorithms accept secret keys in `raw`.
 * @throws NotSupportedError for a secret key
 */
function checkPublic(key: webcrypto.CryptoKey): webcrypto.CryptoKey {
  if (key.type !== 'public') throw publicAlone();
  return key;
}

function publicAlone(): DOMException {
  return refusal('NotSupportedError', 'the token provider only imports public keys');
}
