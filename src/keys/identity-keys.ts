import type { TenantId } from '../clients/caller.ts';
import { keyTypes } from '../config/key-types.ts';
import type { Change } from '../state/database.ts';
import type { StateStore } from '../state/state-store.ts';
import type { IdentityKeyRow } from '../state/tables/identity-keys.ts';
import { parseKeyId } from '../token/key-id.ts';
import { changeableFields, checkUntampered, parseKeyReferenceId, type ActivatableKey, type KeyReferenceId } from './key-record.ts';
import type { KnownSecrets } from './known-secrets.ts';
import { applyRow, Rereading } from './rereading.ts';
import { identitySeal, isSameSeal, tampered, type Seals } from './seals.ts';

/** What names a digital identity within a tenant (ANTS, 2D-Doc v3.2.6, §3.3). */
export interface IdentityName {
  readonly tenant: TenantId;
  /** CA identifier, such as FR03. */
  readonly ca: string;
  /** Certificate identifier: 4 characters. */
  readonly certificateId: string;
}

/** The key of a digital identity in memory. */
export interface IdentityKey extends ActivatableKey {
  readonly table: 'identity_keys';
  readonly protocol: 'PASSWORD';
  readonly transaction: undefined;
  readonly name: IdentityName;
  /** SubjectPublicKeyInfo, DER. */
  readonly publicKeyInfo: Uint8Array;
  /**
   * End of the certificate that the configuration in force gives it, in milliseconds since epoch.
   * The row does not know it.
   */
  expiresAt: number;
}

/** Returns the record of a row. Its certificate is not known yet. */
export function identityKeyOf(row: IdentityKeyRow, tenant: TenantId): IdentityKey {
  const type = keyTypes.find((name) => name === row.key_type);
  if (type === undefined) throw new Error(`the key ${row.reference} of an identity has the unknown type ${row.key_type}`);
  return {
    table: 'identity_keys',
    reference: parseKeyReferenceId(row.reference),
    tenant,
    id: parseKeyId(row.key_id),
    type,
    protocol: 'PASSWORD',
    transaction: undefined,
    name: { tenant, ca: row.ca, certificateId: row.certificate_id },
    publicKeyInfo: row.public_key,
    expiresAt: Infinity,
    fault: undefined,
    heldBackUntil: undefined,
    isStale: false,
    ...changeableFields(row),
    seal: identitySeal(row),
  };
}

interface IdentityKeysParts {
  readonly seals: Pick<Seals, 'identityFault'>;
  readonly known: Pick<KnownSecrets, 'forget'>;
}

/**
 * The keys of digital identities: the second source of keys beside callers' records. There are as
 * many as the configuration names, so all that were used stay in memory. As in `KeyCache`, there is
 * one record for each key, and changes of other instances take effect at once.
 */
export class IdentityKeys {
  readonly #store: StateStore;
  readonly #seals: IdentityKeysParts['seals'];
  readonly #known: IdentityKeysParts['known'];
  readonly #rereading: Rereading<ActivatableKey>;
  readonly #records = new Map<KeyReferenceId, IdentityKey>();
  /** The records of keys in use, by their names. */
  readonly #byName = new Map<string, IdentityKey>();

  constructor(store: StateStore, { seals, known }: IdentityKeysParts) {
    this.#store = store;
    this.#seals = seals;
    this.#known = known;
    this.#rereading = new Rereading(async (record) => this.#read(record));
    store.onChange((change) => {
      this.#take(change);
    });
  }

  /**
   * Finds the key in use with this name; undefined if there is none.
   * @throws {Refusal} ACTIVATION_FAILED if its row is not as the service wrote it
   */
  async find(name: IdentityName): Promise<IdentityKey | undefined> {
    await this.#store.refresh();
    const cached = this.#byName.get(textOf(name));
    if (cached !== undefined) {
      // The row may have been repaired since.
      if (cached.fault !== undefined) cached.isStale = true;
      await this.#rereading.bringUpToDate(cached);
      checkUntampered(cached);
      if (cached.state === 'ACTIVE') return cached;
      this.#byName.delete(textOf(name));
    }
    return this.#load(name);
  }

  /** Reads the row again, even if no change was reported. */
  async reread(record: ActivatableKey): Promise<void> {
    record.isStale = true;
    await this.#rereading.bringUpToDate(record);
  }

  /**
   * Whether the record has every change that was committed before the call, as far as that is known
   * without asking the store.
   */
  isUpToDate(record: ActivatableKey): boolean {
    return !this.#store.isShared && this.#rereading.isUpToDate(record);
  }

  /** Applies every change that was committed before the call. */
  async bringUpToDate(record: ActivatableKey): Promise<void> {
    await this.#store.refresh();
    await this.#rereading.bringUpToDate(record);
  }

  /** Reads the record again, if it is in memory: an operator has changed the row. */
  async changed(reference: string): Promise<void> {
    const record = this.#records.get(parseKeyReferenceId(reference));
    if (record !== undefined) await this.reread(record);
  }

  async #load(name: IdentityName): Promise<IdentityKey | undefined> {
    const row = await this.#store.run('findIdentityKey', { tenant: name.tenant, ca: name.ca, certificate_id: name.certificateId });
    if (row === undefined) return undefined;
    const fault = await this.#seals.identityFault(row);
    if (fault !== undefined) throw tampered(fault);
    const made = identityKeyOf(row, name.tenant);
    // Two concurrent look-ups get the same record. A change reported meanwhile is read by the next.
    const record = this.#records.get(made.reference) ?? made;
    if (record === made) {
      record.isStale = true;
      this.#records.set(record.reference, record);
    }
    await this.#rereading.bringUpToDate(record);
    checkUntampered(record);
    if (record.state !== 'ACTIVE') return undefined;
    this.#byName.set(textOf(name), record);
    return record;
  }

  async #read(record: ActivatableKey): Promise<void> {
    const row = await this.#store.run('identityKeyAt', record.reference);
    const fault = row === undefined ? undefined : await this.#faultSince(record, row);
    const fields = row === undefined || fault !== undefined ? undefined : { ...changeableFields(row), seal: identitySeal(row) };
    applyRow(record, { row: fields, fault }, this.#known);
  }

  async #faultSince(record: ActivatableKey, row: IdentityKeyRow): Promise<string | undefined> {
    const seal = identitySeal(row);
    if (isSameSeal(record.seal, seal)) return undefined;
    const fault = await this.#seals.identityFault(row);
    const isThisKey = Buffer.compare(record.seal.scope, seal.scope) === 0;
    return fault ?? (isThisKey ? undefined : 'the row of the key was replaced by that of another key');
  }

  #take(change: Change): void {
    if (change !== 'everything' && change.table !== 'identity_keys') return;
    for (const record of this.#records.values()) if (change === 'everything' || change.id === record.reference) record.isStale = true;
  }
}

function textOf({ tenant, ca, certificateId }: IdentityName): string {
  return `${tenant} ${ca} ${certificateId}`;
}
