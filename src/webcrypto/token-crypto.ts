import { webcrypto } from 'node:crypto';
import type { KeyId } from '../token/key-id.ts';
import type { KeyJournal } from '../token/key-journal.ts';
import type { ServiceKeys } from '../token/service-keys.ts';
import { macSpecification } from './key-specification.ts';
import { TokenKeys } from './token-keys.ts';
import { TokenSubtle } from './token-subtle.ts';

/**
 * Crypto (W3C Web Cryptography §10) whose private and HMAC keys are service keys on the token.
 * Random numbers are Node's.
 *
 * A key from `subtle.generateKey` is announced in the journal. Its maker writes the record that
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
   * CKA_ID of a key of this provider, for the record that holds it.
   * @throws InvalidAccessError for any other key.
   */
  idOf(key: webcrypto.CryptoKey): KeyId {
    return this.#keys.idOf(key);
  }

  /**
   * Once a record holds the key: settles its announcement. A key that is kept already is no error.
   * @throws InvalidAccessError
   */
  async keep(key: webcrypto.CryptoKey): Promise<void> {
    await this.#keys.keep(key);
  }

  /**
   * Destroys the key on the token. The handle signs no more from the call on, whatever its end;
   * after an OperationError the call can be repeated, and the next start finishes it otherwise.
   * @throws InvalidAccessError for a key of others
   */
  async destroyKey(key: webcrypto.CryptoKey): Promise<void> {
    await this.#keys.destroy(key);
  }

  /**
   * A service key for general use that is on the token already: its CKA_ID, its
   * SubjectPublicKeyInfo (DER), and the algorithm to use it by, as importKey takes it. The token is
   * not asked: whether the two belong together shows at the first verification.
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
   * An HMAC key that is on the token already; hash and length (bits) as it was made with.
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
