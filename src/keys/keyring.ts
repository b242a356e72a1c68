import type { TenantId } from '../clients/caller.ts';
import { Refusal } from '../result-codes.ts';
import type { KeyTable } from '../state/repositories/attempts.ts';
import type { StateStore } from '../state/state-store.ts';
import type { Token } from '../token/token.ts';
import { Activation, type Complete } from './activation.ts';
import { ActivationData } from './activation-data.ts';
import { AttemptSlots } from './attempt-slots.ts';
import type { GivenSecret } from './credentials.ts';
import { Destruction, type Recovered } from './destruction.ts';
import { IdentityKeys, type IdentityKey, type IdentityName } from './identity-keys.ts';
import { KeyCache } from './key-cache.ts';
import { KeyCreation } from './key-creation.ts';
import { KeyPool } from './key-pool.ts';
import { checkUsable, parseKeyReferenceId, type ActivatableKey, type KeyRecord, type KeyReferenceId } from './key-record.ts';
import type { KeyringOptions } from './keyring-options.ts';
import { KnownSecrets } from './known-secrets.ts';
import { LongSecrets } from './long-secrets.ts';
import type { CreatedKey, NewKey } from './new-key.ts';
import { OperatorActions } from './operator-actions.ts';
import { type AskedOtp, openOtp } from './otp.ts';
import { passwordChange } from './password-change.ts';
import { confirmReserved, verifyReserved } from './reserved.ts';
import { RevocationSecrets } from './revocation-secrets.ts';
import { Seals } from './seals.ts';
import { SecretRenewal } from './secret-renewal.ts';
import { SecretPace } from './secret-pace.ts';
import { Signing, type ToBeSigned } from './signing.ts';
import { transitions, type Use } from './states.ts';
import { storeKeyJournal } from './store-key-journal.ts';
import { ZoneSigning, type ZonesToBeSigned } from './zone-signing.ts';

/** Manages the keys of all tenants: records, secrets, life cycle. */
export class Keyring {
  readonly #store: StateStore;
  readonly #token: Token;
  readonly #activation: Activation;
  readonly #cache: KeyCache;
  readonly #identities: IdentityKeys;
  readonly #identityActivation: Activation;
  readonly #zoneSigning: ZoneSigning;
  readonly #known = new KnownSecrets();
  readonly #creation: KeyCreation;
  readonly #signing: Signing;
  /** Destroys keys on the token. */
  readonly destruction: Destruction;
  /** Signature activation data: with it a client signs later, without the key's own secret. */
  readonly activationData: ActivationData;
  /** What operators do to keys, without their secrets. */
  readonly operator: OperatorActions;
  /** Authorises revocations of certificates. */
  readonly revocation: RevocationSecrets;
  /** Moves secrets and seals to another MAC key. */
  readonly renewal: SecretRenewal;
  /** The pool of keys made in advance. */
  readonly #pool: KeyPool | undefined;

  constructor(store: StateStore, token: Token, options: KeyringOptions = {}) {
    const { abandonedMs = 600_000, attemptMaxMs = 120_000, attemptWaitMs = 30_000, configured = [], log } = options;
    this.#store = store;
    this.#token = token;
    const journal = storeKeyJournal(store);
    this.destruction = new Destruction(store, token, journal, { abandonedMs, configured, log });
    const { destruction } = this;
    const seals = new Seals(token, log, options.macKey?.oldest);
    this.#pool = options.pool === undefined ? undefined : new KeyPool({ store, token, seals, journal, destruction }, options.pool);
    this.#creation = new KeyCreation({ store, token, journal, destruction, pool: this.#pool });
    const slots = new AttemptSlots(() => store.now());
    const known = this.#known;
    const long = new LongSecrets();
    const pace = options.pace === undefined ? undefined : new SecretPace(store, options.pace);
    const times = { attemptMaxMs, waitMs: attemptWaitMs };
    this.renewal = new SecretRenewal({
      ...{ store, token, seals, macKey: options.macKey, log },
      changed: async (table, reference) => this.#changed(table, reference),
    });
    const { renewal } = this;
    this.#cache = new KeyCache(store, { seals, slots, known });
    this.#activation = new Activation({ store, cache: this.#cache, seals, slots, known, long, pace, renewal }, times);
    this.#identities = new IdentityKeys(store, { seals, known });
    this.#identityActivation = new Activation({ store, cache: this.#identities, seals, slots, known, long, pace, renewal }, times);
    this.#zoneSigning = new ZoneSigning({ activation: this.#identityActivation, token });
    this.#signing = new Signing({ activation: this.#activation, token, destruction, threads: options.threads });
    this.revocation = new RevocationSecrets(this.#activation, token);
    this.activationData = new ActivationData({ store, token, activation: this.#activation });
    this.operator = new OperatorActions({ store, cache: this.#cache, identities: this.#identities, known, destruction });
  }

  /**
   * Finds a key.
   * @throws {Refusal} KEY_UNKNOWN, also for another tenant's key; ACTIVATION_FAILED if its row is
   *   not as the service wrote it
   */
  async find(tenant: TenantId, reference: KeyReferenceId): Promise<KeyRecord> {
    return this.#cache.find(tenant, reference);
  }

  /**
   * Lists keys of a tenant after a reference, in the order of references, whatever their state. Their
   * rows are not checked.
   */
  async list(
    tenant: TenantId,
    { after, limit }: { readonly after: string | undefined; readonly limit: number },
  ): Promise<readonly { readonly reference: KeyReferenceId; readonly state: string }[]> {
    const rows = await this.#store.run('listKeys', { tenant, after, limit });
    return rows.map(({ reference, state }) => ({ reference: parseKeyReferenceId(reference), state }));
  }

  /** As `find`, for a key whose record is in memory and current; otherwise undefined. */
  findAtOnce(tenant: TenantId, reference: KeyReferenceId): KeyRecord | undefined {
    return this.#cache.findAtOnce(tenant, reference);
  }

  /**
   * Finds the key of a digital identity; undefined if the state store has none.
   * @throws {Refusal} ACTIVATION_FAILED if its row is not as the service wrote it
   */
  async findIdentity(name: IdentityName): Promise<IdentityKey | undefined> {
    return this.#identities.find(name);
  }

  /**
   * Creates a key with a secret that is shown only once. If any step fails, no key without a record
   * stays on the token. Returns the answer that `answer` makes for the caller, which the commit
   * that creates the key also keeps for repetitions of the request.
   * @throws {Refusal} ISSUANCE_REFUSED if the tenant has reached its limit of keys; refusals of
   *   `issue`
   */
  async create(request: NewKey): Promise<CreatedKey>;
  async create<T extends object>(request: NewKey, answer: (created: CreatedKey) => T): Promise<T>;
  async create(request: NewKey, answer?: (created: CreatedKey) => object): Promise<object> {
    return this.#creation.create(request, answer);
  }

  /**
   * Verifies the secret and signs with the key, then has `complete` make the result from the
   * signature values. A single-use secret is used up after that, and given back if it fails. The
   * result of `complete` is the caller's answer.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED, DIGEST_NOT_AUTHORISED
   */
  sign<T extends object>(key: KeyRecord, given: GivenSecret, what: ToBeSigned, complete: Complete<T>): Promise<T> {
    this.#pool?.noteUse();
    return this.#signing.sign(key, given, what, complete);
  }

  /**
   * Verifies the password of a digital identity's key and signs data zones with it, then has
   * `complete` verify the signature values and make the result from them: r‖s, at the width of the
   * curve. Whether the identity may sign these headers is for the caller to decide (`headerFault`).
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED; UNSUPPORTED for more than 900 KiB
   * @throws {Error} if the token host sees no zone of version 02, 03 or 04 in one of them
   */
  async signZones<T extends object>(key: IdentityKey, given: GivenSecret, what: ZonesToBeSigned, complete: Complete<T>): Promise<T> {
    return this.#zoneSigning.sign(key, given, what, complete);
  }

  /**
   * Has the token verify a secret that is to sign, before work that is costly. A wrong secret counts
   * as a failed attempt. A right one changes nothing and authorises nothing: `sign` verifies it again.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED
   */
  async confirmSecret(key: ActivatableKey, given: GivenSecret): Promise<void> {
    const asked = { use: 'sign', action: 'SIGN', given, confirmsOnly: true } as const;
    await this.#activationOf(key).activate(key, asked, async (reserved) => confirmReserved(this.#token, reserved));
  }

  /**
   * Checks whether the secret is the key's, or an open one-time password for signing. The attempt
   * counts like any other, and the secret is not used up. Undefined if the secret is not evaluated
   * because the key is locked or has reached a final state.
   */
  async verifySecret(key: ActivatableKey, given: GivenSecret): Promise<boolean | undefined> {
    try {
      const { verified } = await this.#activationOf(key).attempt(key, { use: 'check', action: 'SIGN', given }, async (reserved) =>
        confirmReserved(this.#token, reserved),
      );
      return verified;
    } catch (error) {
      if (error instanceof Refusal && (error.code === 'KEY_LOCKED' || error.code === 'KEY_STATE')) return undefined;
      throw error;
    }
  }

  /**
   * Destroys the private key; certificate and record stay.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED
   */
  async remove(key: KeyRecord, given: GivenSecret): Promise<void> {
    await this.#activation.activate(key, { use: 'remove', action: 'REVOKE', given }, async (reserved) => {
      const outcome = await verifyReserved(this.#token, reserved);
      return outcome.verified ? { ...outcome, usesUp: true, change: { kind: 'end', ...transitions.remove } } : outcome;
    });
    await this.destruction.finish(key.id);
  }

  /**
   * Changes the password of the key.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED; FIELDS_INCONSISTENT if the new
   *   password is the current one
   */
  async changePassword(key: ActivatableKey, given: GivenSecret, password: string): Promise<void> {
    await this.#activationOf(key).activate(key, { use: 'changePassword', action: 'CHANGE_PASSWORD', given }, async (reserved) => {
      const outcome = await verifyReserved(this.#token, reserved);
      const { own } = reserved;
      if (!outcome.verified || own === undefined) return { verified: false };
      const changed = await passwordChange(this.#token, key, own, password);
      return { ...outcome, usesUp: true, ...changed };
    });
  }

  /**
   * Makes a one-time password for one action; it replaces an older one. With `deliver`, it is sent
   * to the owner and is not part of the answer; if the delivery fails, nothing has changed.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED; DIGEST_NOT_AUTHORISED if the key does not allow the
   *   digests; refusals of `deliver`
   */
  async makeOtp(key: KeyRecord, asked: AskedOtp): Promise<string | undefined> {
    return openOtp(this.#store, this.#token, key, asked);
  }

  /**
   * Applies a state change from the store: it takes effect on return, also for requests in
   * progress.
   */
  async stateChanged(key: KeyRecord): Promise<void> {
    await this.#cache.reread(key);
  }

  /**
   * Returns the time used for locks and expiry, the same on every instance; milliseconds since
   * epoch.
   */
  now(): number {
    return this.#store.now();
  }

  /**
   * Checks that the key may be used, before anything else.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED
   */
  checkUsable(key: ActivatableKey, use: Use): void {
    checkUsable(key, use, this.#store.now());
  }

  /** Starts the pool. */
  startPool(): void {
    this.#pool?.start();
  }

  async stopPool(): Promise<void> {
    await this.#pool?.stop();
  }

  /** Finishes or undoes steps left open by an earlier run. @see Destruction.recover */
  async recover(): Promise<Recovered> {
    if (!this.#store.isShared) await this.#store.run('endReservations');
    return this.destruction.recover();
  }

  /** Has the record in memory follow its row. */
  async #changed(table: KeyTable, reference: string): Promise<void> {
    if (table === 'identity_keys') return this.#identities.changed(reference);
    const record = this.#cache.cached(parseKeyReferenceId(reference));
    if (record !== undefined) await this.#cache.reread(record);
  }

  #activationOf({ table }: ActivatableKey): Activation {
    return table === 'keys' ? this.#activation : this.#identityActivation;
  }
}
