import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import { keyForPurpose } from '../token/key-for-purpose.ts';
import { keyTrial, newKeyId, parseKeyId, type KeyId } from '../token/key-id.ts';
import { KeyGone, type Token } from '../token/token.ts';
import { Succession } from './line.ts';
import type { CheckpointKeys } from './checkpoint-writer.ts';
import type { CheckpointSigner } from './checkpoint.ts';
import { signSuccession } from './succession.ts';

/**
 * The keys of checkpoints: P-256 service keys on the token, the first of which is made at the first
 * start. The state store keeps their public keys. All instances that share a store use one key.
 */
export class TokenCheckpointKeys implements CheckpointKeys {
  readonly #store: StateStore;
  readonly #token: Token;
  readonly #log: Logger;
  #signer: CheckpointSigner;

  private constructor(store: StateStore, token: Token, log: Logger, signer: CheckpointSigner) {
    this.#store = store;
    this.#token = token;
    this.#log = log;
    this.#signer = signer;
  }

  static async open(store: StateStore, token: Token, log: Logger): Promise<TokenCheckpointKeys> {
    return new TokenCheckpointKeys(store, token, log, await tokenCheckpointSigner(store, token, log));
  }

  get signer(): CheckpointSigner {
    return this.#signer;
  }

  async current(): Promise<CheckpointSigner> {
    const id = await this.#store.run('findAuditKey');
    if (id !== undefined) this.#signer = await signerOf(this.#store, this.#token, parseKeyId(id));
    return this.#signer;
  }

  /**
   * Makes another key, which the present one signs, if the token still has it. The present one is
   * announced for destruction. A key that a kill leaves behind is destroyed by the next start.
   */
  async replace(): Promise<{ readonly destroyFormer: () => Promise<void> }> {
    const former = await this.#store.run('findAuditKey');
    const present = await this.current();
    const id = newKeyId('audit');
    await this.#store.run('announce', { key_id: id, intent: 'CREATE', created_at: this.#store.now() });
    const publicKey = await this.#token.createKey(id, 'P-256');
    const succession = await signSuccession(present, publicKey).catch((error: unknown) => {
      if (!(error instanceof KeyGone)) throw error;
      this.#log.error('the key for audit checkpoints is no longer on the token; it cannot sign its successor', { keyId: former });
      return undefined;
    });
    const taken = await this.#store.run('takeAuditKey', {
      ...{ key_id: id, public_key: publicKey, created_at: this.#store.now(), replaces: former },
      succession: succession === undefined ? null : JSON.stringify(succession),
    });
    const unused = taken === id ? former : id;
    this.#log.info('made another key for audit checkpoints', { keyId: taken, replaces: former });
    return {
      destroyFormer: async () => {
        if (unused === undefined) return;
        await this.#token.destroyKey(parseKeyId(unused));
        await this.#store.run('finishStep', unused);
      },
    };
  }
}

/**
 * Returns the signer of checkpoints with the key that the store names, or with a new one if there is
 * none yet, or the token does not have it.
 */
export async function tokenCheckpointSigner(store: StateStore, token: Token, log: Logger): Promise<CheckpointSigner> {
  let made: Uint8Array | undefined;
  const id = await keyForPurpose(store, token, {
    keyPurpose: 'audit',
    find: async () => store.run('findAuditKey'),
    try: async (known) => signed(token, known, keyTrial),
    async make(next) {
      made = await token.createKey(next, 'P-256');
    },
    take: async (next, replaces) =>
      store.run('takeAuditKey', {
        ...{ key_id: next, public_key: made ?? new Uint8Array(), created_at: store.now(), replaces },
        succession: null,
      }),
    lost(known) {
      log.error('the key for audit checkpoints is not on the token, or has no purpose; making a new one', { keyId: known });
    },
  });
  return signerOf(store, token, id);
}

async function signerOf(store: StateStore, token: Token, id: KeyId): Promise<CheckpointSigner> {
  const row = (await store.run('auditKeys')).find(({ key_id: keyId }) => keyId === id);
  if (row === undefined) throw new Error(`the state store has no public key of ${id}, which signs audit checkpoints`);
  return {
    publicKey: row.public_key,
    succession: row.succession === null ? undefined : Succession.parse(JSON.parse(row.succession)),
    sign: async (bytes) => signed(token, id, bytes),
  };
}

async function signed(token: Token, id: KeyId, bytes: Uint8Array): Promise<Uint8Array> {
  return token.signAsService(id, { scheme: 'ECDSA', hash: 'sha256' }, bytes);
}
