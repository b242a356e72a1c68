import type { StateStore } from '../state/state-store.ts';
import type { Logger } from '../telemetry/log.ts';
import { newKeyId, parseKeyId } from '../token/key-id.ts';
import type { MessageToken } from '../token/service-keys.ts';
import type { Token } from '../token/token.ts';
import type { TokenMac } from './request-secrets.ts';

const purpose = 'kept answers';
const keyBytes = 32;

/**
 * The HMAC key on the token that everything about kept answers follows from. It is made at the first start and announced in the journal before, so that
 * a crash leaves no stray key. Of instances that start at once, one makes the key of all.
 */
export async function tokenMacOfKeptAnswers(
  store: StateStore,
  token: Token & { readonly messages: MessageToken },
  log: Logger,
): Promise<TokenMac> {
  const id = parseKeyId((await usableKey(store, token, log)) ?? (await newKey(store, token)));
  return async (message) => token.messages.signMessage(id, { scheme: 'HMAC', hash: 'sha256' }, message);
}

async function usableKey(store: StateStore, token: Token, log: Logger): Promise<string | undefined> {
  const known = await store.run('findServiceKey', purpose);
  if (known === undefined) return undefined;
  if ((await token.listKeys()).some(({ id }) => id === known)) return known;
  log.error('the key of kept answers is not on the token; a new one is made, and what was kept is forgotten', { keyId: known });
  return undefined;
}

async function newKey(store: StateStore, token: Token & { readonly messages: MessageToken }): Promise<string> {
  const replaces = await store.run('findServiceKey', purpose);
  const id = newKeyId('service');
  const now = Date.now();
  await store.run('announce', { key_id: id, intent: 'CREATE', created_at: now });
  await token.messages.createMessageKey(id, { scheme: 'HMAC', hash: 'sha256', bytes: keyBytes });
  const taken = await store.run('takeServiceKey', { purpose, key_id: id, created_at: now, replaces });
  if (taken !== id) {
    await token.destroyKey(id);
    await store.run('finishStep', id);
  }
  return taken;
}
