import { randomBytes } from 'node:crypto';
import { auditSteps } from '../audit/audited-request.ts';
import type { TenantId } from '../clients/caller.ts';
import type { KeyType } from '../config/profile.ts';
import { DocumentDigests } from '../documents/document-digests.ts';
import type { InputDocument } from '../documents/document.ts';
import { Refusal } from '../result-codes.ts';
import { tenantIsFull } from '../state/repositories/keys.ts';
import type { KeyChange } from '../state/repositories/uses.ts';
import type { StateStore } from '../state/state-store.ts';
import { outcomeSteps } from '../state/settlement.ts';
import { deciding, step, type Step } from '../state/step.ts';
import { newKeyId, parseKeyId, type KeyId } from '../token/key-id.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import type { KeyJournal } from '../token/key-journal.ts';
import type { SignatureAlgorithm } from '../token/signature-algorithm.ts';
import type { Token } from '../token/token.ts';
import { Activation } from './activation.ts';
import { passwordBytes, type GivenSecret, type OtpAction } from './credentials.ts';
import type { KeyCustody } from './custody.ts';
import { Destruction, type Recovered, type RecoveryOptions } from './destruction.ts';
import { coversDigests, coversDocuments, type BoundDigest } from './digest-binding.ts';
import { KeyCache, type RecordReader } from './key-cache.ts';
import { checkUsable, parseKeyReferenceId, setCounters, type KeyRecord, type KeyReferenceId } from './key-record.ts';
import { KeyPool, type PoolOptions } from './key-pool.ts';
import { keyRow, makeSecret, type CreatedKey, type NewKey } from './new-key.ts';
import type { Deliver } from './otp-delivery.ts';
import { makeOtp } from './otp.ts';
import type { PossibleSecret, Reserved } from './reserved.ts';
import { storedStatesFor, transitions, type Use } from './states.ts';
import type { CommittedPurpose } from './settling.ts';
import { storeKeyJournal } from './store-key-journal.ts';
import { stretch } from './stretching.ts';

export interface KeyringOptions extends Partial<RecoveryOptions> {
  /** Longer than any attempt takes: what is older went down with its instance. */
  readonly attemptMaxMs?: number;
  /** How long an attempt waits for those before it. */
  readonly attemptWaitMs?: number;
  /** Where big documents are hashed; absent: on the event loop. */
  readonly threads?: Pick<WorkThreads, 'run'>;
  /** Keys that are made ahead; absent: none are. */
  readonly pool?: PoolOptions;
}

/** What is to be signed: the digests for the token, and the documents that they come from. */
export interface ToBeSigned {
  readonly algorithm: SignatureAlgorithm;
  readonly digests: readonly Uint8Array[];
  readonly documents: readonly InputDocument[];
}

/** The keys of all tenants: their records, their secrets, their life cycle. */
export class Keyring {
  readonly #store: StateStore;
  readonly #token: Token;
  readonly #custody: KeyCustody;
  readonly #journal: KeyJournal;
  readonly #activation: Activation;
  readonly #cache: KeyCache;
  readonly #threads: Pick<WorkThreads, 'run'> | undefined;
  /** What goes from the token, now, later, or at the next start. */
  readonly destruction: Destruction;
  /** Keys that are made ahead. */
  readonly #pool: KeyPool | undefined;

  constructor(store: StateStore, token: Token, custody: KeyCustody, options: KeyringOptions = {}) {
    const { abandonedMs = 600_000, attemptMaxMs = 120_000, attemptWaitMs = 30_000, configured = [], log } = options;
    this.#store = store;
    this.#token = token;
    this.#threads = options.threads;
    this.#custody = custody;
    this.#journal = storeKeyJournal(store);
    this.destruction = new Destruction(store, custody, this.#journal, { abandonedMs, configured, log });
    this.#pool =
      options.pool === undefined
        ? undefined
        : new KeyPool({ store, custody, journal: this.#journal, destruction: this.destruction }, options.pool);
    const records: RecordReader = {
      reread: async (key) => this.#cache.reread(key),
      bringUpToDate: async (key) => this.#cache.bringUpToDate(key),
    };
    this.#activation = new Activation(store, records, { attemptMaxMs, waitMs: attemptWaitMs });
    this.#cache = new KeyCache(store, this.#activation);
  }

  /** @throws {Refusal} KEY_UNKNOWN; the same for another tenant's key. */
  async find(tenant: TenantId, reference: KeyReferenceId): Promise<KeyRecord> {
    return this.#cache.find(tenant, reference);
  }

  /**
   * Makes a key with a secret that is shown this once. Whatever fails, no key without a record stays on the token.
   * @throws {Refusal} ISSUANCE_REFUSED where the tenant has as many keys as it may; what `issue` refuses with
   */
  async create(request: NewKey): Promise<CreatedKey> {
    const { keysMax, tenant } = request;
    // Most of those that are too many cost no key.
    if (keysMax !== undefined && (await this.#store.run('countKeys', tenant)) >= keysMax) throw tooManyKeys(keysMax);
    const ahead = await this.#pool?.take(request.type);
    const id = ahead?.id ?? newKeyId('caller');
    if (ahead === undefined) await this.#journal.announce(id, 'CREATE');
    try {
      const publicKeyInfo = ahead?.publicKeyInfo ?? (await this.#make(id, request.type));
      const [{ row, issuers }, { secret, columns }] = await Promise.all([
        request.issue(publicKeyInfo),
        makeSecret(this.#token, id, request),
      ]);
      const insert = step('insertKey', { certificate: row, key: keyRow(request, id, row, columns), issuers, keysMax });
      const created = { reference: parseKeyReferenceId(row.sha1), secret };
      const outcome = request.answer === undefined ? [] : await outcomeSteps({ answer: request.answer(created) });
      await this.#store.commit([insert, ...(request.steps ?? []), ...auditSteps('the key and its certificate exist'), ...outcome]);
      return created;
    } catch (error) {
      await this.destruction.undoCreation(id);
      if (keysMax !== undefined && error instanceof Error && error.message.includes(tenantIsFull)) throw tooManyKeys(keysMax);
      throw error;
    }
  }

  async #make(id: KeyId, type: KeyType): Promise<Uint8Array> {
    const make = async (): Promise<Uint8Array> => this.#custody.create(id, type);
    return this.#pool === undefined ? make() : this.#pool.makingForCaller(make);
  }

  /**
   * Verifies the secret and signs with the key, then lets `complete` make of the values what leaves. A secret of one use is used up after that, and
   * given back if it fails. What `complete` answers is what the caller is answered.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED, DIGEST_NOT_AUTHORISED
   */
  async sign<T extends object>(
    key: KeyRecord,
    given: GivenSecret,
    { algorithm, digests, documents }: ToBeSigned,
    complete: (values: readonly Uint8Array[]) => Promise<T>,
  ): Promise<T> {
    this.#pool?.noteUse();
    const change: KeyChange | undefined = key.protocol === 'SINGLE_USE' ? { kind: 'end', ...transitions.consume } : undefined;
    const result = await this.#activation.activate<'SIGN', T>(key, { use: 'sign', action: 'SIGN', given }, async (reserved) => {
      const allowed = await this.#allowed(reserved, documents);
      if (allowed === undefined) return { verified: false };
      const outcome = await this.#custody.sign(reserved, algorithm, digests, (secret) => allowed.has(secret));
      if (!outcome.verified) return outcome;
      const { by, values } = outcome;
      if (values.length === 0) {
        const refusal = new Refusal('DIGEST_NOT_AUTHORISED');
        return { verified: true, by, usesUp: true, refusal, finish: async () => Promise.reject(refusal) };
      }
      return { verified: true, by, usesUp: true, change, finish: async () => complete(values), answer: (value) => value };
    });
    if (change !== undefined) await this.destruction.finish(key.id);
    return result;
  }

  /**
   * Those of the possible secrets that let the documents be signed. Where it takes time to hash the documents, the secret is verified before:
   * undefined where it is wrong, so that nothing is hashed for it.
   */
  async #allowed(reserved: Reserved<'SIGN'>, documents: readonly InputDocument[]): Promise<ReadonlySet<PossibleSecret> | undefined> {
    const { key, candidates } = reserved;
    const digests = new DocumentDigests(documents, this.#threads);
    let asked = candidates;
    if (digests.areBig && [key, ...candidates].some(({ binding }) => binding !== undefined)) {
      const outcome = await this.#custody.verify(reserved);
      if (!outcome.verified) return undefined;
      asked = candidates.slice(outcome.by, outcome.by + 1);
    }
    const allowed = new Set<PossibleSecret>();
    if (!(await coversDocuments(key.binding, documents, digests))) return allowed;
    for (const secret of asked) if (await coversDocuments(secret.binding, documents, digests)) allowed.add(secret);
    return allowed;
  }

  /**
   * Whether the secret is the key's, or open for signing. It is counted like any other attempt, and not used up. Undefined, since it is not
   * evaluated, on a key that is locked or has ended.
   */
  async verifySecret(key: KeyRecord, given: GivenSecret): Promise<boolean | undefined> {
    try {
      const { verified } = await this.#activation.attempt(key, { use: 'check', action: 'SIGN', given }, async (reserved) => {
        const outcome = await this.#custody.verify(reserved);
        return outcome.verified ? { ...outcome, usesUp: false, finish: async () => Promise.resolve() } : outcome;
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
    const right = new Error('the transaction is right');
    const given: GivenSecret = { member: 'transactionId', bytes: Buffer.from(transactionId ?? ''), transactionId };
    try {
      await this.#activation.activate<'REVOKE', void>(key, { use: 'revoke', action: 'REVOKE', given }, async (reserved) => {
        const { verified } = await this.#custody.verify(reserved);
        if (verified) throw right;
        return { verified };
      });
    } catch (error) {
      if (error !== right) throw error;
    }
  }

  /**
   * Gives the key another password.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED; FIELDS_INCONSISTENT where it is the one that the key has
   */
  async changePassword(key: KeyRecord, given: GivenSecret, password: string): Promise<void> {
    await this.#activation.activate(key, { use: 'changePassword', action: 'CHANGE_PASSWORD', given }, async (reserved) => {
      const outcome = await this.#custody.verify(reserved);
      // The one that was verified: another change may have given the record the next one meanwhile.
      const { own: secret } = reserved;
      if (!outcome.verified || secret === undefined) return { verified: false };
      const right = { ...outcome, usesUp: true, finish: async () => Promise.resolve() };
      // A one-time password says nothing of the old password, which the new one may be.
      const same = secret.stretched ? await stretch(passwordBytes(password), secret.salt) : passwordBytes(password);
      const isOld = await this.#token.verifyProof(key.id, { anyOf: [{ kind: 'PASSWORD', ...secret, secret: same, signs: false }] });
      if (isOld.verified) return { ...right, refusal: samePassword() };
      const salt = randomBytes(16);
      const mac = await this.#token.makeMac(key.id, 'PASSWORD', salt, await stretch(passwordBytes(password), salt));
      const from = storedStatesFor('changePassword');
      return { ...right, change: { kind: 'password', from, replaces: secret.mac, salt, mac, stretched: 1 } };
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
      return outcome.verified ? { ...outcome, usesUp: true, ...gain, finish: async () => Promise.resolve() } : outcome;
    });
  }
}

/** What a one-time password for an action is good for. */
export const otpUses = { SIGN: 'sign', CHANGE_PASSWORD: 'changePassword', REVOKE: 'revoke' } as const satisfies Record<OtpAction, Use>;

function tooManyKeys(keysMax: number): Refusal {
  return new Refusal('ISSUANCE_REFUSED', {
    message: `the tenant has ${keysMax} keys, and may have no more: remove those that are done with`,
  });
}

function samePassword(): Refusal {
  return new Refusal('FIELDS_INCONSISTENT', { at: '/password', message: 'the new password is the one that the key has' });
}
