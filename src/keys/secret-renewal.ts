import { readStoredMac } from '../token/mac-generation.ts';
import type { KeyTable } from '../state/repositories/attempts.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Sealed } from '../state/tables/keys.ts';
import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { Token } from '../token/token.ts';
import type { ActivatableKey } from './key-record.ts';
import type { PossibleSecret, Reserved } from './reserved.ts';
import type { SecretAction } from './credentials.ts';
import { identitySeal, isSameSeal, keySeal, noTransaction, sealIdentityKey, sealKey, sealPooled, type Seals } from './seals.ts';
import { parseKeyId } from '../token/key-id.ts';

interface RenewalParts {
  readonly store: StateStore;
  readonly token: Pick<Token, 'makeMac'>;
  readonly seals: Pick<Seals, 'holdsKey' | 'holdsIdentity' | 'isPooledRight'>;
  /** The MAC key in force; undefined: there is only one. */
  readonly macKey: { readonly generation: number } | undefined;
  readonly log: Logger | undefined;
  /** Has the record in memory, if there is one, follow its row. */
  readonly changed: (table: KeyTable, reference: string) => Promise<void>;
}

const pageSize = 100;

/**
 * Moves secrets and seals to the current MAC key: the secrets of a key at a right one, since nobody
 * knows them otherwise; all seals at once, since they cover public data.
 */
export class SecretRenewal {
  readonly #parts: RenewalParts;

  constructor(parts: RenewalParts) {
    this.#parts = parts;
  }

  /**
   * Makes the MACs of a key's password and transaction anew, if a former MAC key made them and they
   * were right just now. What fails is tried at the next use: the present MACs hold as before.
   */
  async renew(key: ActivatableKey, { own, also }: Pick<Reserved<SecretAction>, 'own' | 'also'>, right: PossibleSecret): Promise<void> {
    const isOld = right.kind === 'PASSWORD' && own !== undefined && this.#isFormer(own.mac);
    const hasOldTransaction = also !== undefined && key.transaction !== undefined && this.#isFormer(key.transaction.mac);
    if (!isOld && !hasOldTransaction) return;
    try {
      await this.#renew(key, isOld ? right.secret : undefined, hasOldTransaction ? also.secret : undefined);
    } catch (error) {
      this.#parts.log?.warn('the secret of a key could not be made anew under the current MAC key; its next use tries again', {
        key: key.reference,
        reason: reasonOf(error),
      });
    }
  }

  async #renew(key: ActivatableKey, secret: Uint8Array | undefined, transaction: Uint8Array | undefined): Promise<void> {
    const { store, token, changed } = this.#parts;
    const { table, reference, id, seal } = key;
    const { scope } = seal;
    const row = table === 'keys' ? await store.run('findKey', reference) : await store.run('identityKeyAt', reference);
    if (row === undefined) return;
    const rowSeal = 'protocol' in row ? keySeal(row) : identitySeal(row);
    // Only the row whose seal was checked is sealed again.
    if (!isSameSeal(seal, rowSeal) || row.seal_mac === null) {
      await changed(table, reference);
      return;
    }
    const secrets = { secret_salt: row.secret_salt, secret_mac: row.secret_mac };
    if (secret !== undefined) {
      const { salt, mac } = await token.makeMac(id, 'PASSWORD', secret, scope);
      const stretchSalt = row.secret_salt.length > salt.length ? row.secret_salt.subarray(salt.length) : row.secret_salt;
      secrets.secret_salt = row.secret_stretched === 1 ? Buffer.concat([salt, stretchSalt]) : salt;
      secrets.secret_mac = mac;
    }
    const tied = 'protocol' in row ? { transaction_salt: row.transaction_salt, transaction_mac: row.transaction_mac } : noTransaction;
    const made = transaction === undefined ? undefined : await token.makeMac(id, 'TRANSACTION', transaction, scope);
    const newTied = made === undefined ? tied : { transaction_salt: made.salt, transaction_mac: made.mac };
    const newSeal = await sealKey(token, id, scope, { ...secrets, secret_stretched: row.secret_stretched, ...newTied });
    const isDone = await store.run('renewSecrets', {
      ...{ table, reference, secrets, seal: newSeal, now: store.now() },
      replaces: { seal: row.seal_mac, secret: row.secret_mac },
      transaction: table === 'keys' ? newTied : undefined,
    });
    if (isDone) await changed(table, reference);
  }

  /** Seals every row anew whose seal is of a former MAC key. A row with a wrong seal stays as it is. */
  async resealAll(): Promise<number> {
    let count = 0;
    for (const table of ['keys', 'identity_keys', 'key_pool'] as const) count += await this.#resealTable(table);
    return count;
  }

  async #resealTable(table: KeyTable | 'key_pool'): Promise<number> {
    const { store, macKey, changed } = this.#parts;
    const current = macKey?.generation ?? 0;
    let count = 0;
    for (let after = ''; ;) {
      const page = await store.run('formerSeals', { table, current, after, limit: pageSize });
      for (const id of page) {
        const made = await this.#sealed(table, id);
        if (made === undefined) continue;
        await store.run('reseal', { table, id, ...made });
        if (table !== 'key_pool') await changed(table, id);
        count += 1;
      }
      const last = page.at(-1);
      if (last === undefined || page.length < pageSize) return count;
      after = last;
    }
  }

  /** Undefined if the row is gone, or not as the service wrote it. */
  async #sealed(table: KeyTable | 'key_pool', id: string): Promise<{ readonly replaces: Uint8Array; readonly seal: Sealed } | undefined> {
    const { store, token, seals } = this.#parts;
    if (table === 'key_pool') {
      const row = await store.run('pooledKey', id);
      if (row?.seal_mac === undefined || row.seal_mac === null || !(await seals.isPooledRight(row))) return undefined;
      return { replaces: row.seal_mac, seal: await sealPooled(token, parseKeyId(id), row) };
    }
    if (table === 'keys') {
      const row = await store.run('findKey', id);
      if (row?.seal_mac === undefined || row.seal_mac === null || !(await seals.holdsKey(row))) return undefined;
      return { replaces: row.seal_mac, seal: await sealKey(token, parseKeyId(row.key_id), keySeal(row).scope, row) };
    }
    const row = await store.run('identityKeyAt', id);
    if (row?.seal_mac === undefined || row.seal_mac === null || !(await seals.holdsIdentity(row))) return undefined;
    return { replaces: row.seal_mac, seal: await sealIdentityKey(token, row) };
  }

  #isFormer(mac: Uint8Array): boolean {
    return readStoredMac(mac).generation < (this.#parts.macKey?.generation ?? 0);
  }
}
