import { parseIssuingChain, type IssuingChain } from '../certificates/chains.ts';
import { Refusal } from '../result-codes.ts';
import type { TenantId } from '../clients/caller.ts';
import type { Change } from '../state/database.ts';
import type { KeyWithCertificate } from '../state/repositories/keys.ts';
import type { StateStore } from '../state/state-store.ts';
import { changeableFields, checkUntampered, recordOf, type KeyRecord, type KeyReferenceId } from './key-record.ts';
import { isSameSeal, keySeal, tampered, type Seals } from './seals.ts';

/** Some 10,000 records of common size. */
const recordsMaxBytes = 64 * 1024 * 1024;

/** Whom the cache asks about its records, and tells. */
export interface RecordUser {
  /** A record whose attempts are in flight stays: a second one beside it would have counters of its own. */
  isBusy(key: KeyRecord): boolean;
  /** The key has another secret now, or is gone: the old one is not to be remembered. */
  forget(key: KeyRecord): void;
}

/** Brings records up to date. */
export interface RecordReader {
  /** Reads the row again, whether a change was told or not. */
  reread(record: KeyRecord): Promise<void>;
  /** When this resolves, the record is as every change that was committed before the call left it. */
  bringUpToDate(record: KeyRecord): Promise<void>;
}

/** Judges a row before it is believed. */
type Judge = Pick<Seals, 'keyFault' | 'checkChain'>;

/**
 * Records in memory, so that a request reads none; one object a key, since it holds the counters. Before a record is handed out the store is
 * asked what other instances changed, so that what they have committed decides at once. A row is judged by its seal when it is read, and read again only
 * where its seal is another one since.
 */
export class KeyCache implements RecordReader {
  readonly #store: StateStore;
  readonly #user: RecordUser;
  readonly #judge: Judge;
  /** By reference, the least recently used first. A reference that is not there is not kept: strangers must not fill the memory. */
  readonly #records = new Map<KeyReferenceId, KeyRecord>();
  readonly #reading = new Map<KeyReferenceId, Promise<void>>();
  /** What certificates were issued under, by the store's identifiers. */
  readonly #chains = new Map<string, IssuingChain>();
  readonly #maxBytes: number;
  #bytes = 0;
  #changes = 0;

  constructor(store: StateStore, user: RecordUser, judge: Judge, maxBytes = recordsMaxBytes) {
    this.#maxBytes = maxBytes;
    this.#judge = judge;
    this.#store = store;
    this.#user = user;
    store.onChange((change) => {
      this.#take(change);
    });
  }

  /**
   * @throws {Refusal} KEY_UNKNOWN; the same for another tenant's key. ACTIVATION_FAILED where the key's row, or that of its certificate, is not as the
   * service wrote it.
   */
  async find(tenant: TenantId, reference: KeyReferenceId): Promise<KeyRecord> {
    await this.#store.refresh();
    const record = this.#records.get(reference) ?? (await this.#load(tenant, reference));
    if (record.tenant !== tenant) checkIsNamed(tenant, await this.#store.run('findKey', reference));
    // The store now names this tenant, or the row may have been repaired: read it again.
    if (record.tenant !== tenant || record.fault !== undefined) record.isStale = true;
    await this.#bringUpToDate(record);
    checkUntampered(record);
    if (record.tenant !== tenant) throw new Refusal('KEY_UNKNOWN');
    this.#keep(record);
    return record;
  }

  /** The record, if it is in memory. */
  cached(reference: KeyReferenceId): KeyRecord | undefined {
    return this.#records.get(reference);
  }

  async reread(record: KeyRecord): Promise<void> {
    record.isStale = true;
    await this.#bringUpToDate(record);
  }

  async bringUpToDate(record: KeyRecord): Promise<void> {
    await this.#store.refresh();
    // One that had to go from the memory while it was in use is told of nothing.
    if (this.#records.get(record.reference) !== record) record.isStale = true;
    await this.#bringUpToDate(record);
  }

  async #load(tenant: TenantId, reference: KeyReferenceId): Promise<KeyRecord> {
    const changes = this.#changes;
    const row = await this.#store.run('findKey', reference);
    checkIsNamed(tenant, row);
    const fault = await this.#judge.keyFault(row);
    if (fault !== undefined) throw tampered(fault);
    const issuers = row.issuing_chain === null ? undefined : await this.#issuersOf(row.issuing_chain);
    // Two look-ups at once end with one record.
    const known = this.#records.get(reference);
    const record = known ?? recordOf(row, tenant, issuers);
    if (this.#changes !== changes) record.isStale = true;
    if (known === undefined) {
      this.#records.set(reference, record);
      this.#bytes += record.weight;
    }
    return record;
  }

  /** Thousands of keys share one. */
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

  /** A change that is told while the row is read makes the record stale again; who came with it reads once more. */
  async #bringUpToDate(record: KeyRecord): Promise<void> {
    if (record.isStale) {
      record.isStale = false;
      const { reference } = record;
      const reading = this.#read(record, this.#reading.get(reference)).finally(() => {
        if (this.#reading.get(reference) === reading) this.#reading.delete(reference);
      });
      this.#reading.set(reference, reading);
    }
    await this.#reading.get(record.reference);
  }

  /** One after the other, so that no older row comes last. */
  async #read(record: KeyRecord, previous: Promise<void> | undefined): Promise<void> {
    try {
      await previous?.catch(() => undefined);
      const row = await this.#store.run('findKey', record.reference);
      const before = record.secret?.mac;
      record.fault = row === undefined ? undefined : await this.#faultSince(record, row);
      if (record.fault === undefined) {
        Object.assign(
          record,
          row === undefined ? { state: 'REMOVED', secret: undefined } : { ...changeableFields(row), seal: keySeal(row) },
        );
      }
      const { state, secret } = record;
      const isSame = before !== undefined && secret !== undefined && Buffer.compare(secret.mac, before) === 0;
      if (!isSame || state !== 'ACTIVE' || record.fault !== undefined) this.#user.forget(record);
    } catch (error) {
      record.isStale = true;
      throw error;
    }
  }

  /** What is wrong with the row of a record, as it was read again. The token is asked where anything that is sealed is not as it was. */
  async #faultSince(record: KeyRecord, row: KeyWithCertificate): Promise<string | undefined> {
    const seal = keySeal(row);
    if (isSameSeal(record.seal, seal)) return undefined;
    const fault = await this.#judge.keyFault(row);
    // Sealed, and not this key's: nothing of ours writes another record under the same reference.
    const isThisKey = Buffer.compare(record.seal.scope, seal.scope) === 0;
    return fault ?? (isThisKey ? undefined : 'the row of the key is another one than before');
  }

  #keep(record: KeyRecord): void {
    const known = this.#records.get(record.reference);
    if (known !== undefined && known !== record) return;
    if (known === undefined) {
      // It had to go while it was read, and was told of nothing since.
      record.isStale = true;
      this.#bytes += record.weight;
    }
    this.#records.delete(record.reference);
    this.#records.set(record.reference, record);
    if (this.#bytes <= this.#maxBytes) return;
    for (const [reference, oldest] of this.#records) {
      if (oldest === record || this.#user.isBusy(oldest)) continue;
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

  // The feed knows references as text.
  #byReference(reference: string): KeyRecord | undefined {
    return this.#records.get(reference as KeyReferenceId);
  }
}

/**
 * Checks that the row names the tenant. The tenant of the certificate also finds a key whose row names
 * another one, which is then refused as tampered with. @throws {Refusal} KEY_UNKNOWN
 */
function checkIsNamed(tenant: TenantId, row: KeyWithCertificate | undefined): asserts row is KeyWithCertificate {
  if (row === undefined || (row.tenant !== tenant && row.certificate_tenant !== tenant)) throw new Refusal('KEY_UNKNOWN');
}
