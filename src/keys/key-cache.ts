import { parseIssuingChain, type IssuingChain } from '../certificates/chains.ts';
import { Refusal } from '../result-codes.ts';
import type { TenantId } from '../clients/caller.ts';
import type { Change } from '../state/database.ts';
import type { KeyWithCertificate } from '../state/repositories/keys.ts';
import type { StateStore } from '../state/state-store.ts';
import type { AttemptSlots } from './attempt-slots.ts';
import { changeableFields, checkUntampered, recordOf, type ActivatableKey, type KeyRecord, type KeyReferenceId } from './key-record.ts';
import type { KnownSecrets } from './known-secrets.ts';
import { applyRow, Rereading } from './rereading.ts';
import { isSameSeal, keySeal, tampered, type Seals } from './seals.ts';
import { hasEnded } from './states.ts';

/** About 10,000 records of typical size. */
const recordsMaxBytes = 64 * 1024 * 1024;

/** Checks a row before it is used. */
type Judge = Pick<Seals, 'keyFault' | 'checkChain'>;

interface CacheParts {
  readonly seals: Judge;
  /**
   * The attempts in flight. The record of such a key stays in the cache: a second one would have
   * its own counters.
   */
  readonly slots: Pick<AttemptSlots, 'isBusy'>;
  /** Forgets the old secret of a key that has another one now, or is gone. */
  readonly known: Pick<KnownSecrets, 'forget'>;
}

/**
 * Caches records, so that requests need not read them. There is one object for each key, since it
 * holds the counters. Before a record is handed out, the store is asked for changes made by other
 * instances, so that committed changes take effect at once. The seal of a row is checked when the
 * row is read, and again only if the seal has changed since.
 */
export class KeyCache {
  readonly #store: StateStore;
  readonly #judge: Judge;
  readonly #slots: CacheParts['slots'];
  readonly #known: CacheParts['known'];
  /**
   * Records by reference, least recently used first. Unknown references are not cached, so that
   * callers cannot fill the memory.
   */
  readonly #records = new Map<KeyReferenceId, KeyRecord>();
  readonly #rereading: Rereading<ActivatableKey>;
  /** Issuing chains, by their identifiers in the store. */
  readonly #chains = new Map<string, IssuingChain>();
  readonly #maxBytes: number;
  #bytes = 0;
  #changes = 0;

  constructor(store: StateStore, { seals, slots, known }: CacheParts, maxBytes = recordsMaxBytes) {
    this.#maxBytes = maxBytes;
    this.#judge = seals;
    this.#store = store;
    this.#slots = slots;
    this.#known = known;
    this.#rereading = new Rereading(async (record) => this.#read(record));
    store.onChange((change) => {
      this.#take(change);
    });
  }

  /**
   * Finds the record of a key.
   * @throws {Refusal} KEY_UNKNOWN, also for another tenant's key; ACTIVATION_FAILED if the row of
   *   the key or of its certificate is not as the service wrote it
   */
  async find(tenant: TenantId, reference: KeyReferenceId): Promise<KeyRecord> {
    await this.#store.refresh();
    const record = this.#records.get(reference) ?? (await this.#load(tenant, reference));
    if (record.tenant !== tenant) checkIsNamed(tenant, await this.#store.run('findKey', reference));
    // The store now names this tenant, or the row may have been repaired: read it again.
    if (record.tenant !== tenant || record.fault !== undefined) record.isStale = true;
    await this.#rereading.bringUpToDate(record);
    checkUntampered(record);
    if (record.tenant !== tenant) throw new Refusal('KEY_UNKNOWN');
    this.#keep(record);
    return record;
  }

  /**
   * As `find`, for a record that is in memory and current; otherwise undefined.
   */
  findAtOnce(tenant: TenantId, reference: KeyReferenceId): KeyRecord | undefined {
    const record = this.#records.get(reference);
    if (record === undefined || record.tenant !== tenant || record.fault !== undefined || !this.isUpToDate(record)) return undefined;
    this.#keep(record);
    return record;
  }

  /**
   * Whether the record has every change that was committed before the call, as far as that is known
   * without asking the store.
   */
  isUpToDate(record: ActivatableKey): boolean {
    return !this.#store.isShared && this.#records.get(record.reference) === record && this.#rereading.isUpToDate(record);
  }

  /** Returns the record if it is cached. */
  cached(reference: KeyReferenceId): KeyRecord | undefined {
    return this.#records.get(reference);
  }

  /** Reads the row again, even if no change was reported. */
  async reread(record: ActivatableKey): Promise<void> {
    record.isStale = true;
    await this.#rereading.bringUpToDate(record);
  }

  /** Applies every change that was committed before the call. */
  async bringUpToDate(record: ActivatableKey): Promise<void> {
    await this.#store.refresh();
    // A record that was evicted while in use missed later changes.
    if (this.#records.get(record.reference) !== record) record.isStale = true;
    await this.#rereading.bringUpToDate(record);
  }

  async #load(tenant: TenantId, reference: KeyReferenceId): Promise<KeyRecord> {
    const changes = this.#changes;
    const row = await this.#store.run('findKey', reference);
    checkIsNamed(tenant, row);
    const fault = await this.#judge.keyFault(row);
    if (fault !== undefined) throw tampered(fault);
    const issuers = row.issuing_chain === null ? undefined : await this.#issuersOf(row.issuing_chain);
    // Two concurrent look-ups get the same record.
    const known = this.#records.get(reference);
    const record = known ?? recordOf(row, tenant, issuers);
    if (this.#changes !== changes) record.isStale = true;
    if (known === undefined) {
      this.#records.set(reference, record);
      this.#bytes += record.weight;
    }
    return record;
  }

  /** Returns the issuing chain, which thousands of keys share. */
  async #issuersOf(id: string): Promise<IssuingChain> {
    const known = this.#chains.get(id);
    if (known !== undefined) return known;
    const der = await this.#store.run('findIssuingChain', id);
    const judge: Judge = this.#judge;
    judge.checkChain(id, der);
    const chain = parseIssuingChain(der);
    this.#chains.set(id, chain);
    return chain;
  }

  async #read(record: ActivatableKey): Promise<void> {
    const row = await this.#store.run('findKey', record.reference);
    const fault = row === undefined ? undefined : await this.#faultSince(record, row);
    const fields = row === undefined || fault !== undefined ? undefined : { ...changeableFields(row), seal: keySeal(row) };
    applyRow(record, { row: fields, fault }, this.#known);
  }

  /**
   * Returns the fault of a row that was read again, if any. The token is asked only if sealed data
   * has changed.
   */
  async #faultSince(record: ActivatableKey, row: KeyWithCertificate): Promise<string | undefined> {
    const seal = keySeal(row);
    // The seal of a key that had ended may never have been checked.
    if (isSameSeal(record.seal, seal) && !hasEnded(record.state)) return undefined;
    const fault = await this.#judge.keyFault(row);
    // The seal is valid but the row belongs to another key: the service never writes another record
    // under the same reference.
    const isThisKey = Buffer.compare(record.seal.scope, seal.scope) === 0;
    return fault ?? (isThisKey ? undefined : 'the row of the key was replaced by that of another key');
  }

  #keep(record: KeyRecord): void {
    const known = this.#records.get(record.reference);
    if (known !== undefined && known !== record) return;
    if (known === undefined) {
      // The record was evicted while it was read, and has missed changes since.
      record.isStale = true;
      this.#bytes += record.weight;
    }
    this.#records.delete(record.reference);
    this.#records.set(record.reference, record);
    if (this.#bytes <= this.#maxBytes) return;
    for (const [reference, oldest] of this.#records) {
      if (oldest === record || this.#slots.isBusy(oldest)) continue;
      this.#records.delete(reference);
      this.#bytes -= oldest.weight;
      if (this.#bytes <= this.#maxBytes) return;
    }
  }

  #take(change: Change): void {
    this.#changes += 1;
    if (change === 'everything') {
      for (const record of this.#records.values()) record.isStale = true;
    } else if (change.table === 'keys') {
      const record = this.#byReference(change.id);
      if (record !== undefined) record.isStale = true;
    }
  }

  // The change feed has references as text.
  #byReference(reference: string): KeyRecord | undefined {
    return this.#records.get(reference as KeyReferenceId);
  }
}

/**
 * Checks that the row names the tenant. The look-up by the tenant of the certificate also finds a
 * key whose row names another tenant; that key is then refused as tampered with.
 * @throws {Refusal} KEY_UNKNOWN
 */
function checkIsNamed(tenant: TenantId, row: KeyWithCertificate | undefined): asserts row is KeyWithCertificate {
  if (row === undefined || (row.tenant !== tenant && row.certificate_tenant !== tenant)) throw new Refusal('KEY_UNKNOWN');
}
