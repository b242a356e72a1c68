import type { StateStore } from '../state/state-store.ts';
import { lacksPurpose, newKeyId, parseKeyId, type KeyId, type KeyPurpose } from './key-id.ts';
import { KeyGone, type Token } from './token.ts';

/** A service key of which there is one for all instances that share a store. */
export interface Purpose {
  readonly keyPurpose: KeyPurpose;
  /** The key that the store names; undefined before the first one is made. */
  find(): Promise<string | undefined>;
  /**
   * Makes a trial use of a key to check that the token has it: the host's list from its start may
   * be out of date.
   */
  try(id: KeyId): Promise<unknown>;
  make(id: KeyId): Promise<void>;
  /**
   * Records a new key in place of `replaces`, and returns the key that the store names afterwards:
   * another instance may have been faster.
   */
  take(id: KeyId, replaces: string | undefined): Promise<string>;
  /**
   * Reports a key that is replaced: it is not on the token, or it has no purpose and signs nothing.
   */
  lost(id: KeyId): void;
}

/**
 * Returns the service key for a purpose: the one that the store names, or a new one if there is
 * none yet, if the token does not have it, or if it was made before keys had purposes. (Such an old
 * key still works for HMAC.) A key is announced in the journal before it is made, and a replaced
 * key is announced for destruction, so that no crash leaves a stray key.
 * @throws {TokenUnavailable} if the token gives no answer
 */
export async function keyForPurpose(store: StateStore, token: Pick<Token, 'destroyKey'>, purpose: Purpose): Promise<KeyId> {
  const known = await purpose.find();
  if (known !== undefined && (await isThere(parseKeyId(known), purpose))) return parseKeyId(known);
  const id = newKeyId(purpose.keyPurpose);
  await store.run('announce', { key_id: id, intent: 'CREATE', created_at: store.now() });
  await purpose.make(id);
  const taken = await purpose.take(id, known);
  const unused = taken === id ? known : id;
  // If this fails, the journal keeps the entry for the next start.
  if (unused !== undefined) await destroy(store, token, parseKeyId(unused)).catch(() => undefined);
  return parseKeyId(taken);
}

async function isThere(id: KeyId, purpose: Purpose): Promise<boolean> {
  if (lacksPurpose(id) && purpose.keyPurpose !== 'mac') {
    purpose.lost(id);
    return false;
  }
  try {
    await purpose.try(id);
    return true;
  } catch (error) {
    if (!(error instanceof KeyGone)) throw error;
    purpose.lost(id);
    return false;
  }
}

async function destroy(store: StateStore, token: Pick<Token, 'destroyKey'>, id: KeyId): Promise<void> {
  await token.destroyKey(id);
  await store.run('finishStep', id);
}
