import { webcrypto } from 'node:crypto';
import { type KeyId, keyPurpose, newKeyId } from '../token/key-id.ts';
import type { KeyJournal } from '../token/key-journal.ts';
import type { ServiceKeys } from '../token/service-keys.ts';
import { hashName } from './algorithms.ts';
import { type KeySpecification, openingSpecification, rsaKeyType } from './key-specification.ts';
import { onToken, refusal } from './refusal.ts';

/**
 * A CryptoKey that represents a key on the token. It contains nothing of the key, and only the
 * provider that made it knows which key it represents: a copy of its members, or a key of another
 * provider, cannot sign.
 */
export class TokenCryptoKey implements webcrypto.CryptoKey {
  readonly type: 'private' | 'secret';
  readonly extractable = false;
  readonly algorithm: webcrypto.KeyAlgorithm;
  readonly usages: webcrypto.KeyUsage[];

  constructor(type: 'private' | 'secret', algorithm: webcrypto.KeyAlgorithm, usages: readonly webcrypto.KeyUsage[]) {
    this.type = type;
    this.algorithm = algorithm;
    this.usages = [...usages];
  }

  get [Symbol.toStringTag](): string {
    return 'CryptoKey';
  }
}

/** State of a key of the provider. */
export interface TokenKeyState {
  readonly id: KeyId;
  readonly specification: KeySpecification;
  readonly usages: ReadonlySet<webcrypto.KeyUsage>;
  readonly publicKey: webcrypto.CryptoKey | undefined;
  /** True if the journal has an entry for this key. */
  announced: boolean;
  /** True if its destruction has begun. */
  destroyed: boolean;
}

type Usages = readonly webcrypto.KeyUsage[];

/** Creates, opens, keeps and destroys the keys behind a provider's CryptoKeys. */
export class TokenKeys {
  readonly #keys: ServiceKeys;
  readonly #journal: KeyJournal;
  readonly #states = new WeakMap<webcrypto.CryptoKey, TokenKeyState>();

  constructor(keys: ServiceKeys, journal: KeyJournal) {
    this.#keys = keys;
    this.#journal = journal;
  }

  /** Returns the state of a key of this provider; undefined for any other. */
  find(key: webcrypto.CryptoKey): TokenKeyState | undefined {
    return this.#states.get(key);
  }

  idOf(key: webcrypto.CryptoKey): KeyId {
    return this.#stateOf(key).id;
  }

  /**
   * Announces the key, then has the token make it. A key that could not be finished is destroyed at
   * once, or at the next start.
   */
  async create(specification: KeySpecification, usages: Usages): Promise<webcrypto.CryptoKey | webcrypto.CryptoKeyPair> {
    const id = newKeyId('general');
    await this.#journal.announce(id, 'CREATE');
    try {
      const publicKeyInfo = await onToken(async () => this.#make(id, specification));
      if (specification.name === 'HMAC') return this.#macKey(id, specification, usages, true);
      return this.#pair(id, specification, await importPublicKey(publicKeyInfo, specification, verifyOf(usages)), usages, true);
    } catch (error) {
      // The journal keeps its entry if this fails too, and the next start finishes it.
      await this.#destroy(id).catch(() => undefined);
      throw error;
    }
  }

  async open(id: KeyId, publicKeyInfo: Uint8Array, algorithm: webcrypto.AlgorithmIdentifier): Promise<webcrypto.CryptoKeyPair> {
    checkServiceKey(id);
    const publicKey = await webcrypto.subtle.importKey('spki', publicKeyInfo, algorithm, true, ['verify']);
    const specification = openingSpecification(algorithm, publicKey);
    return this.#pair(id, specification, publicKey, ['sign', 'verify'], false);
  }

  openMac(id: KeyId, specification: KeySpecification & { name: 'HMAC' }, usages: Usages): webcrypto.CryptoKey {
    checkServiceKey(id);
    return this.#macKey(id, specification, usages, false);
  }

  async keep(key: webcrypto.CryptoKey): Promise<void> {
    const state = this.#stateOf(key);
    if (state.destroyed) throw refusal('InvalidAccessError', 'the key is destroyed');
    if (!state.announced) return;
    await this.#journal.settle(state.id);
    state.announced = false;
  }

  async destroy(key: webcrypto.CryptoKey): Promise<void> {
    const state = this.#stateOf(key);
    if (!state.announced && !state.destroyed) await this.#journal.announce(state.id, 'DESTROY');
    state.announced = true;
    state.destroyed = true;
    await this.#destroy(state.id);
    state.announced = false;
  }

  #stateOf(key: webcrypto.CryptoKey): TokenKeyState {
    const state = this.find(key);
    if (state === undefined) throw refusal('InvalidAccessError', 'the key does not belong to this provider');
    return state;
  }

  async #destroy(id: KeyId): Promise<void> {
    await onToken(async () => this.#keys.destroyKey(id));
    await this.#journal.settle(id);
  }

  async #make(id: KeyId, specification: KeySpecification): Promise<Uint8Array> {
    switch (specification.name) {
      case 'RSASSA-PKCS1-v1_5':
      case 'RSA-PSS': {
        const type = rsaKeyType(specification.modulusBits);
        if (type === undefined) throw new RangeError(`RSA keys of ${specification.modulusBits} bits are not supported`);
        return this.#keys.createKey(id, type);
      }
      case 'ECDSA':
        return this.#keys.createKey(id, specification.namedCurve);
      case 'Ed25519':
        return this.#keys.createMessageKey(id, { scheme: 'Ed25519' });
      case 'HMAC':
        return this.#keys.createMessageKey(id, { scheme: 'HMAC', hash: hashName(specification.hash), bytes: specification.bytes });
    }
  }

  #pair(
    id: KeyId,
    specification: KeySpecification,
    publicKey: webcrypto.CryptoKey,
    usages: Usages,
    announced: boolean,
  ): webcrypto.CryptoKeyPair {
    const privateUsages = usages.filter((usage) => usage === 'sign');
    const privateKey = new TokenCryptoKey('private', { ...publicKey.algorithm }, privateUsages);
    this.#states.set(privateKey, { id, specification, usages: new Set(privateUsages), publicKey, announced, destroyed: false });
    return { privateKey, publicKey };
  }

  #macKey(id: KeyId, specification: KeySpecification & { name: 'HMAC' }, usages: Usages, announced: boolean): webcrypto.CryptoKey {
    const algorithm: webcrypto.HmacKeyAlgorithm = {
      name: 'HMAC',
      hash: { name: specification.hash },
      length: specification.bytes * 8,
    };
    const key = new TokenCryptoKey('secret', algorithm, usages);
    this.#states.set(key, { id, specification, usages: new Set(usages), publicKey: undefined, announced, destroyed: false });
    return key;
  }
}

/**
 * Checks that a key may be opened.
 * @throws InvalidAccessError for a caller's key, which signs only with its owner's secret, and for
 *   service keys with another purpose
 */
function checkServiceKey(id: KeyId): void {
  if (keyPurpose(id) !== 'general') throw refusal('InvalidAccessError', 'only keys for general use can be opened');
}

function verifyOf(usages: Usages): webcrypto.KeyUsage[] {
  return usages.filter((usage) => usage === 'verify');
}

async function importPublicKey(
  publicKeyInfo: Uint8Array,
  specification: Exclude<KeySpecification, { name: 'HMAC' }>,
  usages: webcrypto.KeyUsage[],
): Promise<webcrypto.CryptoKey> {
  return webcrypto.subtle.importKey('spki', publicKeyInfo, specification, true, usages);
}
