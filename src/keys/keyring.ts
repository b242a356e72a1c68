import { randomBytes } from 'node:crypto';
import { auditSteps } from '../audit/audited-request.ts';
import type { TenantId } from '../clients/caller.ts';
import type { KeyType } from '../config/profile.ts';
import { Refusal } from '../result-codes.ts';
import type { StateStore } from '../state/state-store.ts';
import { step } from '../state/step.ts';
import type { CertificateRow } from '../state/schema.ts';
import { newKeyId, parseKeyId, type KeyId } from '../token/key-id.ts';
import type { KeyJournal } from '../token/key-journal.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { Token } from '../token/token.ts';
import { Activation } from './activation.ts';
import type { KeyCustody } from './custody.ts';
import { checkNotLocked, checkUsable, parseKeyReferenceId, recordOf, type KeyRecord, type KeyReferenceId } from './key-record.ts';
import { storeKeyJournal } from './store-key-journal.ts';

/** A certificate for a new key, as the certificates room issues it. */
export interface IssuedCertificate {
  readonly row: CertificateRow;
}

export interface NewKey {
  readonly tenant: TenantId;
  readonly type: KeyType;
  readonly subscriber: { readonly emailAddress?: string | undefined; readonly phoneNumber?: string | undefined };
  /** Issues the certificate for the public key (SubjectPublicKeyInfo, DER). */
  issue(publicKeyInfo: Uint8Array): Promise<IssuedCertificate>;
}

const passwordBytes = 20;
const maxRecords = 10_000;
const undoRetryMs = 1000;

/** The keys of all tenants: their records, their secrets, their life cycle. */
export class Keyring {
  readonly #store: StateStore;
  readonly #token: Token;
  readonly #custody: KeyCustody;
  readonly #journal: KeyJournal;
  readonly #activation: Activation;
  /** Records by reference, the least recently used first. A reference that is not there is not kept: strangers must not fill the memory. */
  readonly #records = new Map<KeyReferenceId, KeyRecord>();

  constructor(store: StateStore, token: Token, custody: KeyCustody) {
    this.#store = store;
    this.#token = token;
    this.#custody = custody;
    this.#journal = storeKeyJournal(store);
    this.#activation = new Activation(store);
  }

  /** @throws {Refusal} KEY_UNKNOWN; the same for another tenant's key. */
  async find(tenant: TenantId, reference: KeyReferenceId): Promise<KeyRecord> {
    let record = this.#records.get(reference);
    if (record === undefined) {
      const row = await this.#store.run('findKey', reference);
      if (row === undefined || row.tenant !== tenant) throw new Refusal('KEY_UNKNOWN');
      // Two look-ups at once must end with one record, since it holds the counters.
      record = this.#records.get(reference) ?? recordOf(row, tenant);
    }
    if (record.tenant !== tenant) throw new Refusal('KEY_UNKNOWN');
    this.#keep(record);
    return record;
  }

  /** A record whose attempts are in flight stays: a second one beside it would have counters of its own. */
  #keep(record: KeyRecord): void {
    this.#records.delete(record.reference);
    this.#records.set(record.reference, record);
    if (this.#records.size <= maxRecords) return;
    for (const [reference, oldest] of this.#records) {
      if (this.#activation.isBusy(oldest)) continue;
      this.#records.delete(reference);
      return;
    }
  }

  /** Makes a key with a password that is shown this once. Whatever fails, no key without a record stays on the token. */
  async createWithPassword(request: NewKey): Promise<{ reference: KeyReferenceId; password: string }> {
    const id = newKeyId('caller');
    await this.#journal.announce(id, 'CREATE');
    try {
      const publicKeyInfo = await this.#custody.create(id, request.type);
      const [{ row }, random] = await Promise.all([request.issue(publicKeyInfo), this.#token.random(passwordBytes)]);
      const password = Buffer.from(random).toString('base64url');
      const salt = randomBytes(16);
      const mac = await this.#token.makeMac(id, 'PASSWORD', salt, Buffer.from(password));
      const insert = step('insertKey', {
        certificate: row,
        key: {
          reference: row.sha1,
          tenant: request.tenant,
          key_id: id,
          key_type: request.type,
          protocol: 'PASSWORD',
          state: 'ACTIVE',
          secret_salt: salt,
          secret_mac: mac,
          failures_in_row: 0,
          failures_since_success: 0,
          locked_until: null,
          subscriber_email: request.subscriber.emailAddress ?? null,
          subscriber_phone: request.subscriber.phoneNumber ?? null,
          created_at: Date.now(),
        },
      });
      await this.#store.commit([insert, ...auditSteps('the key and its certificate exist')]);
      return { reference: parseKeyReferenceId(row.sha1), password };
    } catch (error) {
      // The journal keeps the entry if this fails too, and the next start finishes it.
      await this.#undoIfAnnounced(id).catch(() => {
        this.#undoLater(id);
      });
      throw error;
    }
  }

  /** Verifies the secret and signs with the key. @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED */
  async sign(
    key: KeyRecord,
    secret: Uint8Array,
    algorithm: SignatureAlgorithm,
    digests: readonly Uint8Array[],
  ): Promise<readonly Uint8Array[]> {
    return this.#activation.activate<'SIGN', readonly Uint8Array[]>(key, secret, async (reserved) => {
      const outcome = await this.#custody.sign(reserved, algorithm, digests);
      return outcome.verified ? { verified: true, value: outcome.values } : outcome;
    });
  }

  /** Whether the secret is the key's. It is counted like any other attempt. Not evaluated, hence undefined, on a locked or removed key. */
  async verifySecret(key: KeyRecord, secret: Uint8Array): Promise<boolean | undefined> {
    try {
      const attempt = await this.#activation.attempt<'SIGN', true>(
        key,
        secret,
        async (reserved) => ((await this.#custody.verify(reserved)) ? { verified: true, value: true } : { verified: false }),
        true,
      );
      return attempt.verified;
    } catch (error) {
      if (error instanceof Refusal && (error.code === 'KEY_LOCKED' || error.code === 'KEY_STATE')) return undefined;
      throw error;
    }
  }

  /** Destroys the private key; certificate and record stay. @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED */
  async remove(key: KeyRecord, secret: Uint8Array): Promise<void> {
    const attempt = await this.#activation.attempt<'REVOKE', true>(
      key,
      secret,
      async (reserved) => ((await this.#custody.verify(reserved)) ? { verified: true, value: true } : { verified: false }),
      true,
    );
    if (!attempt.verified) throw new Refusal('ACTIVATION_FAILED');
    const mark = step('markRemoved', { reference: key.reference, now: Date.now() });
    const [first] = await this.#store.commit([mark, ...auditSteps('the key is out of use')]);
    key.removed = true;
    this.#activation.forget(key);
    if (!first) throw new Refusal('KEY_STATE', { message: 'the key is removed' });
    try {
      await this.#undo(key.id);
    } catch (error) {
      this.#undoLater(key.id);
      throw error;
    }
  }

  /** Before anything else is asked of the key. @throws {Refusal} KEY_STATE, KEY_LOCKED */
  checkUsable(key: KeyRecord, allowExpired = false): void {
    checkUsable(key, Date.now(), allowExpired);
    checkNotLocked(key, Date.now());
  }

  /** Finishes what a crash cut short: keys that were being made or destroyed go from the token. Returns how many. */
  async recover(): Promise<number> {
    const steps = await this.#store.run('journal');
    for (const entry of steps) {
      await this.#undo(parseKeyId(entry.key_id));
    }
    return steps.length;
  }

  /** A key whose record was committed after all is no longer announced, and stays. */
  async #undoIfAnnounced(id: KeyId): Promise<void> {
    const steps = await this.#store.run('journal');
    if (steps.some((entry) => entry.key_id === id)) await this.#undo(id);
  }

  /** The token was not there: once more when it is. A stop before that leaves it to the next start. */
  #undoLater(id: KeyId): void {
    setTimeout(() => {
      this.#undoIfAnnounced(id).catch(() => {
        this.#undoLater(id);
      });
    }, undoRetryMs).unref();
  }

  async #undo(id: KeyId): Promise<void> {
    await this.#custody.destroy(id);
    await this.#journal.settle(id);
  }
}
