import { randomBytes } from 'node:crypto';
import { auditSteps } from '../audit/audited-request.ts';
import type { TenantId } from '../clients/caller.ts';
import type { KeyType } from '../config/profile.ts';
import { Refusal } from '../result-codes.ts';
import type { StateStore } from '../state/state-store.ts';
import { outcomeSteps } from '../state/settlement.ts';
import { step } from '../state/step.ts';
import type { CertificateRow } from '../state/schema.ts';
import { newKeyId, parseKeyId, type KeyId } from '../token/key-id.ts';
import type { KeyJournal } from '../token/key-journal.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { Token } from '../token/token.ts';
import { Activation } from './activation.ts';
import type { KeyCustody } from './custody.ts';
import { KeyCache } from './key-cache.ts';
import { checkNotLocked, checkUsable, parseKeyReferenceId, type KeyRecord, type KeyReferenceId } from './key-record.ts';
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
  /** What the caller is answered: kept for repetitions of the request by the commit that makes the key. */
  answer?(created: CreatedWithPassword): object;
}

export interface CreatedWithPassword {
  readonly reference: KeyReferenceId;
  readonly password: string;
}

export interface KeyringOptions {
  /** Age at which a step that no instance finished counts as cut short. */
  readonly abandonedMs?: number;
  /** Longer than any attempt takes: what is older went down with its instance. */
  readonly attemptMaxMs?: number;
  /** Keys that the configuration names: whatever the journal says, they stay. */
  readonly configured?: readonly string[];
}

const passwordBytes = 20;
const sweepMs = 30_000;
const undoRetryMs = 1000;

/** The keys of all tenants: their records, their secrets, their life cycle. */
export class Keyring {
  readonly #store: StateStore;
  readonly #token: Token;
  readonly #custody: KeyCustody;
  readonly #journal: KeyJournal;
  readonly #activation: Activation;
  readonly #cache: KeyCache;
  readonly #abandonedMs: number;
  readonly #configured: Set<string>;
  #sweeping: NodeJS.Timeout | undefined;

  constructor(
    store: StateStore,
    token: Token,
    custody: KeyCustody,
    { abandonedMs = 600_000, attemptMaxMs = 120_000, configured = [] }: KeyringOptions = {},
  ) {
    this.#store = store;
    this.#token = token;
    this.#custody = custody;
    this.#journal = storeKeyJournal(store);
    this.#abandonedMs = abandonedMs;
    this.#configured = new Set(configured);
    this.#activation = new Activation(store, async (key) => this.#cache.reread(key), attemptMaxMs);
    this.#cache = new KeyCache(store, this.#activation);
  }

  /** Keys that a new configuration names: they stay too, as those of the one before do. */
  keepConfigured(ids: readonly string[]): void {
    for (const id of ids) this.#configured.add(id);
  }

  /** @throws {Refusal} KEY_UNKNOWN; the same for another tenant's key. */
  async find(tenant: TenantId, reference: KeyReferenceId): Promise<KeyRecord> {
    return this.#cache.find(tenant, reference);
  }

  /** Makes a key with a password that is shown this once. Whatever fails, no key without a record stays on the token. */
  async createWithPassword(request: NewKey): Promise<CreatedWithPassword> {
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
      const created = { reference: parseKeyReferenceId(row.sha1), password };
      const outcome = request.answer === undefined ? [] : await outcomeSteps({ answer: request.answer(created) });
      await this.#store.commit([insert, ...auditSteps('the key and its certificate exist'), ...outcome]);
      return created;
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

  /**
   * Finishes what a crash cut short: keys that were being made or destroyed go from the token. Where other instances may be at work, a step
   * counts as cut short after a time, whoever began it; taking it over keeps that one from finishing it. `kept`: keys that the journal wants
   * destroyed though the configuration names them. Nothing of ours writes that.
   */
  async recover(): Promise<{ finished: number; kept: readonly string[] }> {
    const begunBefore = this.#store.isShared ? Date.now() - this.#abandonedMs : Number.MAX_SAFE_INTEGER;
    const ids = await this.#store.run('takeOverSteps', { begunBefore });
    const kept = ids.filter((id) => this.#configured.has(id));
    for (const id of ids) {
      if (!this.#configured.has(id)) await this.#undo(parseKeyId(id));
    }
    return { finished: ids.length - kept.length, kept };
  }

  /** Recovers again and again, where other instances may die. */
  startSweeping(found: (keys: number) => void): void {
    if (!this.#store.isShared) return;
    this.#sweeping = setInterval(
      () => {
        // A store or a token that is away now is asked again next time.
        this.recover().then(
          ({ finished }) => {
            if (finished > 0) found(finished);
          },
          () => undefined,
        );
      },
      Math.min(sweepMs, this.#abandonedMs),
    );
  }

  stopSweeping(): void {
    clearInterval(this.#sweeping);
  }

  /** A key whose record was committed after all is no longer announced, and stays. */
  async #undoIfAnnounced(id: KeyId): Promise<void> {
    if (await this.#store.run('takeOverStep', id)) await this.#undo(id);
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
