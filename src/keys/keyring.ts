import { auditSteps } from '../audit/audited-request.ts';
import type { TenantId } from '../clients/caller.ts';
import { Refusal } from '../result-codes.ts';
import type { KeyChange } from '../state/repositories/uses.ts';
import { outcomeSteps } from '../state/settlement.ts';
import type { StateStore } from '../state/state-store.ts';
import { deciding, step, type Step } from '../state/step.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { parseKeyId } from '../token/key-id.ts';
import type { Token } from '../token/token.ts';
import { Activation } from './activation.ts';
import type { GivenSecret, OtpAction } from './credentials.ts';
import type { KeyCustody } from './custody.ts';
import { Destruction, type Recovered, type RecoveryOptions } from './destruction.ts';
import { coversDigests, type BoundDigest } from './digest-binding.ts';
import { KeyCache, type RecordReader } from './key-cache.ts';
import { KeyCreation } from './key-creation.ts';
import { KeyPool, type PoolOptions } from './key-pool.ts';
import { checkUsable, setCounters, type KeyRecord, type KeyReferenceId } from './key-record.ts';
import type { CreatedKey, NewKey } from './new-key.ts';
import type { Deliver } from './otp-delivery.ts';
import { makeOtp, otpUses } from './otp.ts';
import { passwordChange } from './password-change.ts';
import { Seals } from './seals.ts';
import type { CommittedPurpose } from './settling.ts';
import { Signing, type ToBeSigned } from './signing.ts';
import { transitions, type Use } from './states.ts';
import { storeKeyJournal } from './store-key-journal.ts';

export interface KeyringOptions extends Partial<RecoveryOptions> {
  /** Longer than any attempt takes: what is older went down with its instance. Two minutes where it is absent. */
  readonly attemptMaxMs?: number;
  /** How long an attempt waits for those before it; absent: half a minute. */
  readonly attemptWaitMs?: number;
  /** Where big documents are hashed; absent: on the event loop. */
  readonly threads?: Pick<WorkThreads, 'run'>;
  /** Keys that are made ahead; absent: none are. */
  readonly pool?: PoolOptions;
}

const nothingLeft = async (): Promise<void> => Promise.resolve();

/** The keys of all tenants: their records, their secrets, their life cycle. */
export class Keyring {
  readonly #store: StateStore;
  readonly #token: Token;
  readonly #custody: KeyCustody;
  readonly #activation: Activation;
  readonly #cache: KeyCache;
  readonly #creation: KeyCreation;
  readonly #signing: Signing;
  /** What goes from the token, now, later, or at the next start. */
  readonly destruction: Destruction;
  /** Keys that are made ahead. */
  readonly #pool: KeyPool | undefined;

  constructor(store: StateStore, token: Token, custody: KeyCustody, options: KeyringOptions = {}) {
    const { abandonedMs = 600_000, attemptMaxMs = 120_000, attemptWaitMs = 30_000, configured = [], log } = options;
    this.#store = store;
    this.#token = token;
    this.#custody = custody;
    const journal = storeKeyJournal(store);
    this.destruction = new Destruction(store, custody, journal, { abandonedMs, configured, log });
    const { destruction } = this;
    const seals = new Seals(token, log);
    this.#pool = options.pool === undefined ? undefined : new KeyPool({ store, token, seals, custody, journal, destruction }, options.pool);
    this.#creation = new KeyCreation({ store, token, custody, journal, destruction, pool: this.#pool });
    const records: RecordReader = {
      reread: async (key) => this.#cache.reread(key),
      bringUpToDate: async (key) => this.#cache.bringUpToDate(key),
    };
    this.#activation = new Activation(store, records, seals, { attemptMaxMs, waitMs: attemptWaitMs });
    this.#cache = new KeyCache(store, this.#activation, seals);
    this.#signing = new Signing({ activation: this.#activation, custody, destruction, threads: options.threads });
  }

  /** @throws {Refusal} KEY_UNKNOWN; the same for another tenant's key. ACTIVATION_FAILED where its row is not as the service wrote it. */
  async find(tenant: TenantId, reference: KeyReferenceId): Promise<KeyRecord> {
    return this.#cache.find(tenant, reference);
  }

  /**
   * Makes a key with a secret that is shown this once. Whatever fails, no key without a record stays on the token. Returns what `answer` makes
   * of the key for the caller, which the commit that makes the key keeps for repetitions of the request.
   * @throws {Refusal} ISSUANCE_REFUSED where the tenant has as many keys as it may; what `issue` refuses with
   */
  async create(request: NewKey): Promise<CreatedKey>;
  async create<T extends object>(request: NewKey, answer: (created: CreatedKey) => T): Promise<T>;
  async create(request: NewKey, answer?: (created: CreatedKey) => object): Promise<object> {
    return this.#creation.create(request, answer);
  }

  /**
   * Verifies the secret and signs with the key, then lets `complete` make of the values what leaves. A secret of one use is used up after that, and
   * given back if it fails. What `complete` answers is what the caller is answered.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED, DIGEST_NOT_AUTHORISED
   */
  async sign<T extends object>(
    key: KeyRecord,
    given: GivenSecret,
    what: ToBeSigned,
    complete: (values: readonly Uint8Array[]) => Promise<T>,
  ): Promise<T> {
    this.#pool?.noteUse();
    return this.#signing.sign(key, given, what, complete);
  }

  /**
   * Whether the secret is the key's, or open for signing. It is counted like any other attempt, and not used up. Undefined, since it is not
   * evaluated, on a key that is locked or has ended.
   */
  async verifySecret(key: KeyRecord, given: GivenSecret): Promise<boolean | undefined> {
    try {
      const { verified } = await this.#activation.attempt(key, { use: 'check', action: 'SIGN', given }, async (reserved) => {
        const outcome = await this.#custody.verify(reserved);
        return outcome.verified ? { ...outcome, usesUp: false, finish: nothingLeft } : outcome;
      });
      return verified;
    } catch (error) {
      if (error instanceof Refusal && (error.code === 'KEY_LOCKED' || error.code === 'KEY_STATE')) return undefined;
      throw error;
    }
  }

  /** Destroys the private key; certificate and record stay. @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED */
  async remove(key: KeyRecord, given: GivenSecret): Promise<void> {
    await this.#authorise(key, { use: 'remove', action: 'REVOKE', given }, { change: { kind: 'end', ...transitions.remove } });
    await this.destruction.finish(key.id);
  }

  /**
   * The secret that revokeCertificate was given: counted, and used up in the commit that does what it is for.
   * @throws {Refusal} KEY_LOCKED, ACTIVATION_FAILED
   * @throws what the commit failed with
   */
  async authoriseRevocation(key: KeyRecord, given: GivenSecret, purpose: CommittedPurpose): Promise<void> {
    await this.#authorise(key, { use: 'revoke', action: 'REVOKE', given }, { purpose });
  }

  /**
   * The transaction of a key whose certificate is revoked without a secret. A wrong one counts, and so does none where the key is tied to one; a
   * right one clears no failures, for it is no secret.
   * @throws {Refusal} KEY_LOCKED, ACTIVATION_FAILED
   */
  async authoriseTransaction(key: KeyRecord, transactionId: string | undefined): Promise<void> {
    if (transactionId === undefined && key.transaction === undefined) return;
    const given: GivenSecret = { member: 'transactionId', bytes: Buffer.from(transactionId ?? ''), transactionId };
    await this.#activation.confirm<'REVOKE'>(key, { use: 'revoke', action: 'REVOKE', given }, async (reserved) =>
      this.#custody.verify(reserved),
    );
  }

  /**
   * Gives the key another password.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED; FIELDS_INCONSISTENT where it is the one that the key has
   */
  async changePassword(key: KeyRecord, given: GivenSecret, password: string): Promise<void> {
    await this.#activation.activate(key, { use: 'changePassword', action: 'CHANGE_PASSWORD', given }, async (reserved) => {
      const outcome = await this.#custody.verify(reserved);
      const { own } = reserved;
      if (!outcome.verified || own === undefined) return { verified: false };
      const changed = await passwordChange(this.#token, key, own, password);
      return { ...outcome, usesUp: true, ...changed, finish: nothingLeft };
    });
  }

  /**
   * Makes a one-time password for one action, which replaces an older one. With `deliver` it reaches the owner that way, and is not answered; where that
   * fails, nothing has changed.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED; DIGEST_NOT_AUTHORISED where the key does not allow the digests; what `deliver` refuses with
   */
  async makeOtp(
    key: KeyRecord,
    { action, digests, deliver }: { action: OtpAction; digests: readonly BoundDigest[]; deliver?: Deliver | undefined },
  ): Promise<string | undefined> {
    checkUsable(key, otpUses[action], this.#store.now());
    const isForSigning = action === 'SIGN';
    if (isForSigning && !coversDigests(key.binding, digests)) throw new Refusal('DIGEST_NOT_AUTHORISED');
    const { text, row } = await makeOtp(this.#token, key, action, { binding: isForSigning ? digests : undefined, now: this.#store.now() });
    // Until somebody has taken it, the one before it stays open.
    await deliver?.(key.subscriber, text);
    const answer = deliver === undefined ? { password: text } : {};
    const outcome = await outcomeSteps({ answer, until: row.expires_at, whileOtp: row.otp_id });
    await this.#store.commit([
      step('putOtp', { otp: row, now: this.#store.now() }),
      ...auditSteps('a one-time password is open'),
      ...outcome,
    ]);
    return deliver === undefined ? text : undefined;
  }

  /** The store has another state of the key: it counts from the return on, for requests on their way too. */
  async stateChanged(key: KeyRecord): Promise<void> {
    await this.#cache.reread(key);
  }

  /** The time that locks and ends go by, on every instance the same; milliseconds since epoch. */
  now(): number {
    return this.#store.now();
  }

  /** Before anything else is asked of the key. @throws {Refusal} KEY_STATE, KEY_LOCKED */
  checkUsable(key: KeyRecord, use: Use): void {
    checkUsable(key, use, this.#store.now());
  }

  /** What an operator does with a locked key: it has all its attempts again. `record` is committed with it. @throws {Refusal} KEY_UNKNOWN */
  async unlock(reference: KeyReferenceId, record: readonly Step[]): Promise<void> {
    const [counters] = await this.#store.commit([deciding(step('unlockKey', reference)), ...record]);
    if (counters === undefined) throw new Refusal('KEY_UNKNOWN');
    const key = this.#cache.cached(reference);
    if (key !== undefined) setCounters(key, counters);
  }

  /** What an operator does with a key whose secret is lost: as `remove`, without a secret. @throws {Refusal} KEY_UNKNOWN, KEY_STATE */
  async removeAsOperator(reference: KeyReferenceId, record: readonly Step[]): Promise<void> {
    const row = await this.#store.run('findKey', reference);
    if (row === undefined) throw new Refusal('KEY_UNKNOWN');
    const { from, to, destroys } = transitions.remove;
    const change = step('changeKeyState', { reference, from, to, destroys, now: this.#store.now() });
    const [isChanged] = await this.#store.commit([deciding(change), ...record]);
    if (!isChanged) throw new Refusal('KEY_STATE', { message: 'the key has ended before' });
    const key = this.#cache.cached(reference);
    if (key !== undefined) {
      key.state = to;
      this.#activation.forget(key);
    }
    await this.destruction.finish(parseKeyId(row.key_id));
  }

  /** Makes keys ahead, from now on until it is told to stop. */
  startPool(): void {
    this.#pool?.start();
  }

  stopPool(): void {
    this.#pool?.stop();
  }

  /** What an earlier run left open. @see Destruction.recover */
  async recover(): Promise<Recovered> {
    if (!this.#store.isShared) await this.#store.run('endReservations');
    return this.destruction.recover();
  }

  async #authorise(
    key: KeyRecord,
    asked: { readonly use: Use; readonly action: OtpAction; readonly given: GivenSecret },
    gain: { readonly change: KeyChange } | { readonly purpose: CommittedPurpose },
  ): Promise<void> {
    await this.#activation.activate(key, asked, async (reserved) => {
      const outcome = await this.#custody.verify(reserved);
      return outcome.verified ? { ...outcome, usesUp: true, ...gain, finish: nothingLeft } : outcome;
    });
  }
}
