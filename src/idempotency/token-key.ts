import type { TokenMac } from '../sealed-parts/part-cipher.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import { keyForPurpose } from '../token/key-for-purpose.ts';
import { parseKeyId, type KeyId } from '../token/key-id.ts';
import type { MessageToken } from '../token/service-keys.ts';
import { KeyGone, type Token } from '../token/token.ts';

const purpose = 'kept answers';
const keyBytes = 32;
const algorithm = { scheme: 'HMAC', hash: 'sha256' } as const;
/** Differs from the message of every request, since those are JSON. */
const trial = Buffer.from('is the key there?');

type KeyToken = Pick<Token, 'destroyKey'> & { readonly messages: MessageToken };

/**
 * Returns the MAC of the HMAC key on the token from which the secrets of kept answers are derived;
 * it is made at the first start. Of instances that start at the same time, one makes the key for
 * all; if one has to make another because the token lost it, the others switch to that.
 */
export async function tokenMacOfKeptAnswers(store: StateStore, token: KeyToken, log: Logger): Promise<TokenMac> {
  let id = await theKey(store, token, log);
  let mayBeOther = false;
  store.onChange((change) => {
    if (change === 'everything' || change.table === 'service_keys') mayBeOther = true;
  });
  let rereading: Promise<void> | undefined;
  const reread = async (): Promise<void> => {
    mayBeOther = false;
    try {
      id = parseKeyId((await store.run('findServiceKey', purpose)) ?? id);
    } catch (error) {
      mayBeOther = true;
      throw error;
    } finally {
      rereading = undefined;
    }
  };
  const current = async (): Promise<KeyId> => {
    if (mayBeOther) rereading ??= reread();
    await rereading;
    return mayBeOther ? current() : id;
  };
  return async (message) => {
    const used = await current();
    try {
      return await token.messages.signMessage(used, algorithm, message);
    } catch (error) {
      if (!(error instanceof KeyGone)) throw error;
      await (rereading ??= reread());
      if (id !== used) return token.messages.signMessage(id, algorithm, message);
      log.error('the key of kept answers is no longer on the token; the next start makes a new one', { keyId: used });
      throw error;
    }
  };
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
