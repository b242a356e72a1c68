import type { StateStore } from '../state/state-store.ts';
import { lacksPurpose, newKeyId, parseKeyId, type KeyId, type KeyPurpose } from './key-id.ts';
import { KeyGone, type Token } from './token.ts';

/** A service key that the service needs one of, for all instances that share a store. */
export interface Purpose {
  readonly keyPurpose: KeyPurpose;
  /** The key that the store names; undefined before the first. */
  find(): Promise<string | undefined>;
  /** Uses a key for nothing, to see whether the token has it: what a host has listed at its start is no answer. */
  try(id: KeyId): Promise<unknown>;
  make(id: KeyId): Promise<void>;
  /** Names a key that was made as the one, in place of `replaces`, and answers the one that is named then: another instance may have been faster. */
  take(id: KeyId, replaces: string | undefined): Promise<string>;
  /** Told of a key that is replaced: the token says that it does not have it, or it has no purpose and signs nothing. */
  lost(id: KeyId): void;
}

/**
 * The service key for a purpose: the one that the store names, or a new one where there is none yet, where the token says that it does not have it, or
 * where it was made before keys had purposes, unless it is for HMAC, which such a key does still.
 * A key is announced in the journal before it is made, and one that is replaced is announced for its destruction, so that no crash leaves a stray key.
 * @throws {TokenUnavailable} where the token cannot say
 */
export async function keyForPurpose(store: StateStore, token: Pick<Token, 'destroyKey'>, purpose: Purpose): Promise<KeyId> {
  const known = await purpose.find();
  if (known !== undefined && (await isThere(parseKeyId(known), purpose))) return parseKeyId(known);
  const id = newKeyId(purpose.keyPurpose);
  await store.run('announce', { key_id: id, intent: 'CREATE', created_at: store.now() });
  await purpose.make(id);
  const taken = await purpose.take(id, known);
  const unused = taken === id ? known : id;
  // Where this fails the journal keeps it, for the next start.
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
