import { webcrypto } from 'node:crypto';
import type { KeyId } from '../token/key-id.ts';
import type { KeyJournal } from '../token/key-journal.ts';
import type { ServiceKeys } from '../token/service-keys.ts';
import { macSpecification } from './key-specification.ts';
import { TokenKeys } from './token-keys.ts';
import { TokenSubtle } from './token-subtle.ts';

/**
 * Crypto (W3C Web Cryptography §10) whose private and HMAC keys are service keys on the token.
 * Random numbers come from Node.
 *
 * A key from `subtle.generateKey` is announced in the journal. Its creator writes the record that
 * holds its identifier (`idOf`), then calls `keep`, which settles the announcement; a key that is
 * not kept is destroyed at the next start. `destroyKey` announces, destroys and settles.
 */
export class TokenCrypto implements webcrypto.Crypto {
  readonly subtle: TokenSubtle;
  readonly #keys: TokenKeys;

  constructor(token: ServiceKeys, journal: KeyJournal) {
    this.#keys = new TokenKeys(token, journal);
    this.subtle = new TokenSubtle(token, this.#keys);
  }

  getRandomValues<T extends Parameters<webcrypto.Crypto['getRandomValues']>[0]>(typedArray: T): T {
    return webcrypto.getRandomValues(typedArray);
  }

  randomUUID(): ReturnType<webcrypto.Crypto['randomUUID']> {
    return webcrypto.randomUUID();
  }

  /**
   * Returns the CKA_ID of a key of this provider, for the record that holds it.
   * @throws InvalidAccessError for any other key
   */
  idOf(key: webcrypto.CryptoKey): KeyId {
    return this.#keys.idOf(key);
  }

  /**
   * Settles the announcement of a key, once a record holds the key. Succeeds if the key is already
   * kept.
   * @throws InvalidAccessError
   */
  async keep(key: webcrypto.CryptoKey): Promise<void> {
    await this.#keys.keep(key);
  }

  /**
   * Destroys the key on the token. The handle cannot sign from the call on, whether or not it
   * succeeds; after an OperationError the call can be repeated, otherwise the next start finishes
   * it.
   * @throws InvalidAccessError for a key of another provider
   */
  async destroyKey(key: webcrypto.CryptoKey): Promise<void> {
    await this.#keys.destroy(key);
  }

  /**
   * Opens an existing service key for general use, by its CKA_ID, its SubjectPublicKeyInfo (DER),
   * and the algorithm to use it with, as for importKey. The token is not asked: whether the two
   * belong together shows at the first verification.
   * @throws InvalidAccessError for any other key; DataError, NotSupportedError and TypeError as
   *   importKey of the public key does
   */
  async openKeyPair(
    id: KeyId,
    subjectPublicKeyInfo: Uint8Array,
    algorithm: webcrypto.AlgorithmIdentifier | webcrypto.RsaHashedImportParams | webcrypto.EcKeyImportParams,
  ): Promise<webcrypto.CryptoKeyPair> {
    return this.#keys.open(id, subjectPublicKeyInfo, algorithm);
  }

  /**
   * Opens an existing HMAC key on the token, with the hash and length (bits) that it was made with.
   * @throws InvalidAccessError, NotSupportedError
   */
  openMacKey(
    id: KeyId,
    algorithm: Omit<webcrypto.HmacImportParams, 'name'>,
    keyUsages: readonly ('sign' | 'verify')[],
  ): webcrypto.CryptoKey {
    return this.#keys.openMac(id, macSpecification({ ...algorithm, name: 'HMAC' }), keyUsages);
  }
}
