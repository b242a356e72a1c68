import type { KeysInUse, SealingKey, SealingKeys } from '../sealed-parts/sealing-keys.ts';
import type { StateStore } from '../state/state-store.ts';
import type { SealedCounts } from '../state/repositories/sealing-keys.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import { keyForPurpose } from '../token/key-for-purpose.ts';
import { newKeyId, parseKeyId, type KeyId } from '../token/key-id.ts';
import type { MessageToken } from '../token/service-keys.ts';
import { KeyGone, type Token } from '../token/token.ts';

const purpose = 'kept answers';
const keyBytes = 32;
const algorithm = { scheme: 'HMAC', hash: 'sha256' } as const;
/** Differs from the message of every request, since those are JSON. */
const trial = Buffer.from('is the key there?');
const sweepMs = 60_000;

type KeyToken = Pick<Token, 'destroyKey'> & { readonly messages: MessageToken };

/** A key as `signetctl answers status` shows it. Times are milliseconds since epoch. */
export interface AnswerKeyView extends SealedCounts {
  readonly keyId: string;
  /** When it was made; of a former key, when it was replaced. */
  readonly since: number;
}

/**
 * The HMAC keys on the token from which the secrets of kept answers and sessions are derived. The
 * first is made at the first start. An operator may replace the current one while the service
 * works: it stays for what it has sealed, and is destroyed when the last of that has ended. Of
 * instances that start at the same time, one makes the key for all; if one has to make another
 * because the token lost it, or replaces it, the others switch to that.
 */
export class AnswerKeys implements SealingKeys {
  readonly #store: StateStore;
  readonly #token: KeyToken;
  readonly #log: Logger;
  #keys: KeysInUse;
  #mayBeOther = false;
  #rereading: Promise<void> | undefined;
  #sweeping: NodeJS.Timeout | undefined;

  private constructor(store: StateStore, token: KeyToken, log: Logger, id: KeyId) {
    this.#store = store;
    this.#token = token;
    this.#log = log;
    this.#keys = { current: this.#key(id), former: [] };
    store.onChange((change) => {
      if (change === 'everything' || change.table === 'service_keys') this.#mayBeOther = true;
    });
  }

  static async open(store: StateStore, token: KeyToken, log: Logger): Promise<AnswerKeys> {
    const keys = new AnswerKeys(store, token, log, await theKey(store, token, log));
    await keys.reread();
    keys.#sweeping = setInterval(() => void keys.destroyEnded().catch(() => undefined), sweepMs).unref();
    return keys;
  }

  stop(): void {
    clearInterval(this.#sweeping);
  }

  async using<T>(work: (keys: KeysInUse) => Promise<T>): Promise<T> {
    const used = await this.#current();
    try {
      return await work(used);
    } catch (error) {
      if (!(error instanceof KeyGone)) throw error;
      await this.reread();
      if (this.#keys.current.id !== used.current.id) return work(this.#keys);
      this.#log.error('the key of kept answers is no longer on the token; the next start makes a new one', { keyId: used.current.id });
      throw error;
    }
  }

  async reread(): Promise<void> {
    await (this.#rereading ??= this.#reread());
  }

  /**
   * Makes another key, with which everything is sealed from now on. A key that a kill leaves behind
   * is destroyed by the next start.
   */
  async rotate(): Promise<void> {
    const replaces = (await this.#current()).current.id;
    const id = newKeyId('mac');
    await this.#store.run('announce', { key_id: id, intent: 'CREATE', created_at: this.#store.now() });
    await this.#token.messages.createMessageKey(id, { ...algorithm, bytes: keyBytes });
    const taken = await this.#store.run('replaceSealingKey', { keyId: id, replaces, now: this.#store.now() });
    if (taken !== id) await this.#destroy(id).catch(() => undefined);
    await this.reread();
    this.#log.info('made another key of kept answers', { keyId: taken });
  }

  /** Destroys the former keys of which nothing is left. */
  async destroyEnded(): Promise<void> {
    for (const { keyId } of (await this.#store.run('sealingKeys')).former) {
      if (!(await this.#store.run('endSealingKey', { keyId, now: this.#store.now() }))) continue;
      this.#log.info('destroying a former key of kept answers: nothing is left that it sealed', { keyId });
      // If this fails, the journal keeps the entry for the next start.
      await this.#destroy(parseKeyId(keyId)).catch((error: unknown) => {
        this.#log.warn('a former key of kept answers is not destroyed yet; the next start does it', { keyId, reason: reasonOf(error) });
      });
    }
  }

  /** Returns the current key first, then the former ones. */
  async views(): Promise<readonly AnswerKeyView[]> {
    const { current, since, former } = await this.#store.run('sealingKeys');
    const all = [...(current === undefined ? [] : [{ keyId: current, since: since ?? 0 }]), ...former];
    return Promise.all(all.map(async (key) => ({ ...key, ...(await this.#store.run('countSealed', key.keyId)) })));
  }

  async #current(): Promise<KeysInUse> {
    while (this.#mayBeOther) await this.reread();
    return this.#keys;
  }

  async #reread(): Promise<void> {
    this.#mayBeOther = false;
    try {
      const { current, former } = await this.#store.run('sealingKeys');
      this.#keys = {
        current: this.#key(current === undefined ? parseKeyId(this.#keys.current.id) : parseKeyId(current)),
        former: former.map(({ keyId }) => this.#key(parseKeyId(keyId))),
      };
    } catch (error) {
      this.#mayBeOther = true;
      throw error;
    } finally {
      this.#rereading = undefined;
    }
  }

  #key(id: KeyId): SealingKey {
    return { id, mac: async (message) => this.#token.messages.signMessage(id, algorithm, message) };
  }

  async #destroy(id: KeyId): Promise<void> {
    await this.#token.destroyKey(id);
    await this.#store.run('finishStep', id);
  }
}

async function theKey(store: StateStore, token: KeyToken, log: Logger): Promise<KeyId> {
  return keyForPurpose(store, token, {
    keyPurpose: 'mac',
    find: async () => store.run('findServiceKey', purpose),
    try: async (id) => token.messages.signMessage(id, algorithm, trial),
    async make(id) {
      await token.messages.createMessageKey(id, { ...algorithm, bytes: keyBytes });
    },
    take: async (id, replaces) => store.run('takeServiceKey', { purpose, key_id: id, created_at: store.now(), replaces }),
    lost(id) {
      log.error('the key of kept answers is not on the token; making a new one, existing kept answers are lost', { keyId: id });
    },
  });
}
