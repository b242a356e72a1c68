import { Refusal } from '../result-codes.ts';
import type { StateStore } from '../state/state-store.ts';
import type { IdentityKeyRow } from '../state/tables/identity-keys.ts';
import { deciding, step, type Step } from '../state/step.ts';
import { parseKeyId } from '../token/key-id.ts';
import type { Destruction } from './destruction.ts';
import type { IdentityKeys } from './identity-keys.ts';
import type { KeyCache } from './key-cache.ts';
import { setCounters, type KeyReferenceId } from './key-record.ts';
import type { KnownSecrets } from './known-secrets.ts';
import { transitions } from './states.ts';

interface Parts {
  readonly store: StateStore;
  readonly cache: KeyCache;
  readonly identities: IdentityKeys;
  readonly known: KnownSecrets;
  readonly destruction: Destruction;
}

/** What operators do to keys, without their secrets. */
export class OperatorActions {
  readonly #use: Parts;

  constructor(parts: Parts) {
    this.#use = parts;
  }

  /**
   * Unlocks a key: it has all its attempts again. `record` is committed with it.
   * @throws {Refusal} KEY_UNKNOWN
   */
  async unlock(reference: KeyReferenceId, record: readonly Step[]): Promise<void> {
    const [counters] = await this.#use.store.commit([deciding(step('unlockKey', { reference })), ...record]);
    if (counters === undefined) throw new Refusal('KEY_UNKNOWN');
    const key = this.#use.cache.cached(reference);
    if (key !== undefined) setCounters(key, counters);
  }

  /**
   * Unlocks the key of a digital identity, as `unlock`. `reference`: that of its row.
   * @throws {Refusal} KEY_UNKNOWN
   */
  async unlockIdentity(reference: string, record: readonly Step[]): Promise<void> {
    const unlocking = step('unlockKey', { table: 'identity_keys', reference });
    const [counters] = await this.#use.store.commit([deciding(unlocking), ...record]);
    if (counters === undefined) throw new Refusal('KEY_UNKNOWN');
    await this.#use.identities.changed(reference);
  }

  /**
   * Removes the key of a digital identity. Returns false if it is no longer in use.
   */
  async removeIdentity({ reference, key_id: id }: Pick<IdentityKeyRow, 'reference' | 'key_id'>, record: readonly Step[]): Promise<boolean> {
    const removing = step('removeIdentityKey', { reference, now: this.#use.store.now() });
    const [isRemoved] = await this.#use.store.commit([deciding(removing), ...record]);
    if (!isRemoved) return false;
    await this.#use.identities.changed(reference);
    await this.#use.destruction.finish(parseKeyId(id));
    return true;
  }

  /** Removes a key. @throws {Refusal} KEY_UNKNOWN, KEY_STATE */
  async remove(reference: KeyReferenceId, record: readonly Step[]): Promise<void> {
    const row = await this.#use.store.run('findKey', reference);
    if (row === undefined) throw new Refusal('KEY_UNKNOWN');
    const { from, to, destroys } = transitions.remove;
    const change = step('changeKeyState', { reference, from, to, destroys, now: this.#use.store.now() });
    const [isChanged] = await this.#use.store.commit([deciding(change), ...record]);
    if (!isChanged) throw new Refusal('KEY_STATE', { message: 'the key is already destroyed' });
    const key = this.#use.cache.cached(reference);
    if (key !== undefined) {
      key.state = to;
      this.#use.known.forget(key.id);
    }
    await this.#use.destruction.finish(parseKeyId(row.key_id));
  }
}
