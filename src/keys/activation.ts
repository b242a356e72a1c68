import { Refusal } from '../result-codes.ts';
import { settlementIsNeeded } from '../state/settlement.ts';
import type { StateStore } from '../state/state-store.ts';
import type { AttemptSlots } from './attempt-slots.ts';
import { AttemptLimits, type Reserving } from './attempt-limits.ts';
import { Candidates } from './candidates.ts';
import type { GivenSecret, SecretAction } from './credentials.ts';
import type { KeyCache } from './key-cache.ts';
import { checkUsable, takesOtps, type ActivatableKey, type StoredSecret } from './key-record.ts';
import type { KnownSecrets, SecretMark } from './known-secrets.ts';
import type { LongSecrets } from './long-secrets.ts';
import { Reservations, type ReservationTimes } from './reservations.ts';
import { isActivationData, isGuarded, secretAt, type Reserved } from './reserved.ts';
import type { SecretPace } from './secret-pace.ts';
import type { SecretRenewal } from './secret-renewal.ts';
import type { Seals } from './seals.ts';
import { outcomeOf, Settling, type GrantedSecret, type RefusedSecret, type Reservation, type Verdict } from './settling.ts';
import { storedStatesFor, type Use } from './states.ts';

/** A use of a key that needs a secret. */
export interface Asked<P extends SecretAction> {
  readonly use: Use;
  readonly action: P;
  readonly given: GivenSecret;
  /** A right secret changes nothing; a wrong one counts as always. Default: false. */
  readonly confirmsOnly?: boolean;
}

/** Asks the token about the candidates of an attempt. */
type Ask<P extends SecretAction> = (reserved: Reserved<P>) => Promise<Verdict>;

/** Makes the caller's answer from the signature values. */
export type Complete<T extends object> = (values: readonly Uint8Array[]) => Promise<T>;

/** Result of an attempt; there is an answer if it was asked to be completed. */
type AttemptOutcome<T extends object> = { readonly verified: false } | { readonly verified: true; readonly answer: T | undefined };

interface KeyUse<P extends SecretAction> extends Asked<P> {
  readonly key: ActivatableKey;
  readonly mark: SecretMark;
}

interface Attempt<P extends SecretAction, T extends object> extends KeyUse<P> {
  readonly ask: Ask<P>;
  readonly complete: Complete<T> | undefined;
}

/** A verdict that the token gave on a reserved attempt. */
interface Judged<P extends SecretAction, V extends Verdict, T extends object> {
  readonly reserved: Reserved<P>;
  readonly verdict: V;
  /** Set if the attempt is complete before its settlement, even without an answer. */
  readonly done: { readonly answer: T | undefined } | undefined;
}

interface ActivationParts {
  readonly store: StateStore;
  readonly cache: Pick<KeyCache, 'reread' | 'isUpToDate' | 'bringUpToDate'>;
  readonly seals: Pick<Seals, 'noteOtpFault'>;
  readonly slots: AttemptSlots;
  readonly known: KnownSecrets;
  readonly long: LongSecrets;
  /** Paces of wrong secrets by client and tenant; undefined: none. */
  readonly pace: SecretPace | undefined;
  /** Makes secrets anew under the current MAC key. */
  readonly renewal?: Pick<SecretRenewal, 'renew'> | undefined;
}

/**
 * Activates keys (contract §6): two short commits around one message to the token. An attempt is
 * reserved, sent to the token, and settled. A key never has more attempts in flight than it has
 * left, and only one if the secret is an authToken or a one-time password is open, so parallel
 * guesses gain nothing, however many instances there are. A failure is on disk before its answer is
 * sent. A fault of the service itself does not count. A password that the token has accepted before
 * needs no reservation, and its success writes nothing; it is compared only where one more attempt
 * would be, so that it cannot be found among parallel guesses either. Beside the key, every wrong
 * secret counts for its client and tenant, and only for them if it is too long to be guessed.
 *
 * The key may change while the token works: it may be revoked, put on hold, removed, locked, or get
 * another password. Once such a change is committed, nothing that it forbids is sent. The
 * settlement checks the conditions that it depends on; if no settlement is written, or work follows
 * it, the record is refreshed and checked again at the end.
 */
export class Activation {
  readonly #store: StateStore;
  readonly #cache: ActivationParts['cache'];
  readonly #settling: Settling;
  readonly #known: KnownSecrets;
  readonly #limits: AttemptLimits;
  readonly #renewal: ActivationParts['renewal'];
  readonly #candidates = new Candidates();

  constructor({ store, cache, seals, slots, known, long, pace, renewal }: ActivationParts, times: ReservationTimes) {
    this.#store = store;
    this.#cache = cache;
    this.#known = known;
    this.#renewal = renewal;
    const reservations = new Reservations({ store, cache, slots }, times);
    const settling = new Settling(store, cache);
    this.#settling = settling;
    this.#limits = new AttemptLimits({ reservations, settling, seals, long, pace, waitMs: times.waitMs });
  }

  /**
   * Asks the token about the secret, and settles its verdict. `complete` makes the caller's answer.
   * With a password, it follows the settlement. With a single-use secret, it is done first: if it
   * fails, the secret is given back.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED for a wrong secret, or the refusal
   *   of the verdict
   * @throws {SecretsPaced} if the client or its tenant has sent too many wrong secrets
   */
  async activate<P extends SecretAction>(key: ActivatableKey, asked: Asked<P>, ask: Ask<P>): Promise<undefined>;
  async activate<P extends SecretAction, T extends object>(
    key: ActivatableKey,
    asked: Asked<P>,
    ask: Ask<P>,
    complete: Complete<T>,
  ): Promise<T>;
  async activate<P extends SecretAction, T extends object>(
    key: ActivatableKey,
    asked: Asked<P>,
    ask: Ask<P>,
    complete?: Complete<T>,
  ): Promise<T | undefined> {
    const outcome = await this.attempt(key, asked, ask, complete);
    if (!outcome.verified) throw new Refusal('ACTIVATION_FAILED');
    return outcome.answer;
  }

  /** As `activate`, but returns the result for a wrong secret instead of throwing. */
  async attempt<P extends SecretAction, T extends object>(
    key: ActivatableKey,
    asked: Asked<P>,
    ask: Ask<P>,
    complete?: Complete<T>,
  ): Promise<AttemptOutcome<T>> {
    checkUsable(key, asked.use, this.#store.now());
    const mark = this.#known.markOf(key.id, asked.given);
    const attempt: Attempt<P, T> = { ...asked, key, mark, ask, complete };
    if (this.#known.knows(key.id, mark)) {
      if (!this.#limits.hasRoomAtOnce(attempt)) await this.#limits.room(attempt);
      const reserved = this.#candidates.atOnce(attempt, 'unasked') ?? (await this.#candidates.stretched(attempt, 'unasked'));
      const verdict = await ask(reserved);
      if (verdict.verified) {
        const granted = await this.#settleRight(attempt, verdict, reserved);
        return { verified: true, answer: await this.#completed(attempt, granted, reserved) };
      }
      // The password was changed meanwhile. The given secret may still be a one-time password, so
      // this is an attempt like any other.
      this.#known.forget(key.id);
    }
    const settled = await this.#reservedAttempt(attempt);
    if (settled === undefined) return { verified: false };
    const { reserved, verdict, done } = settled;
    return { verified: true, answer: done === undefined ? await this.#completed(attempt, verdict, reserved) : done.answer };
  }

  /**
   * Called before any result of a right secret is released: checks that no change committed
   * meanwhile forbids it. `own`: the key's secret that was verified.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED; ACTIVATION_FAILED if the key has another secret by now
   */
  async #holds(key: ActivatableKey, use: Use, own: StoredSecret | undefined): Promise<void> {
    if (!this.#cache.isUpToDate(key)) await this.#cache.bringUpToDate(key);
    checkUsable(key, use, this.#store.now());
    // The same secret may have been made anew meanwhile, under another MAC key.
    const macs = [key.secret?.mac, key.secret?.formerMac];
    if (own === undefined || macs.some((mac) => mac !== undefined && Buffer.compare(own.mac, mac) === 0)) return;
    throw new Refusal('ACTIVATION_FAILED');
  }

  /**
   * Completes an attempt with a password that is settled. The key is checked again before any
   * result is released: by the commit that makes evidence due, or by reading the current record.
   */
  async #completed<P extends SecretAction, T extends object>(
    { key, use, complete, confirmsOnly = false }: Attempt<P, T>,
    { by, change, purpose, values = [] }: GrantedSecret,
    reserved: Reserved<P>,
  ): Promise<T | undefined> {
    if (confirmsOnly) return undefined;
    const answer = await complete?.(values);
    // The settlement itself has done what the secret authorises, under the conditions that it
    // checks.
    if (change !== undefined || purpose !== undefined) return answer;
    if (answer === undefined || !settlementIsNeeded()) {
      await this.#holds(key, use, reserved.own);
      return answer;
    }
    const holding = { states: storedStatesFor(use), mac: secretAt(reserved, by).mac };
    // The count of failures has already been reset.
    const gain = { use, holding, setsBack: false, usedUp: undefined, change: undefined, outcome: { answer } };
    await this.#settling.right(key, undefined, gain);
    return answer;
  }

  /** Asks with a reservation, and settles it. Returns undefined if the secret was wrong. */
  async #reservedAttempt<P extends SecretAction, T extends object>(
    attempt: Attempt<P, T>,
  ): Promise<Judged<P, GrantedSecret, T> | undefined> {
    const reserving = await this.#limits.reserve(attempt);
    if (reserving === undefined) return undefined;
    const { reservation, release } = reserving;
    try {
      const { reserved, verdict, done } = await this.#askReserved(attempt, reserving);
      if (verdict.verified) {
        return {
          ...{ reserved, done },
          verdict: await this.#settleRight(attempt, verdict, reserved, { reservation, answer: done?.answer }),
        };
      }
      await this.#limits.wrong(attempt, reserving);
      return undefined;
    } finally {
      release();
    }
  }

  /**
   * Asks the token, and completes the attempt if the secret is single-use. A fault gives the
   * reservation back.
   */
  async #askReserved<P extends SecretAction, T extends object>(
    attempt: Attempt<P, T>,
    { reservation, paced }: Reserving,
  ): Promise<Judged<P, Verdict, T>> {
    const { key, ask, complete } = attempt;
    try {
      await this.#limits.place(paced);
      const otp = takesOtps(key) ? reservation.otp : 'unasked';
      const reserved = this.#candidates.atOnce(attempt, otp) ?? (await this.#candidates.stretched(attempt, otp));
      const verdict = await ask(reserved);
      if (!verdict.verified) return { reserved, verdict, done: undefined };
      paced.release();
      if (complete !== undefined && verdict.refusal === undefined && verdict.values === undefined) {
        throw new Error('the verdict has no signature values to complete');
      }
      const isCompletedFirst = verdict.refusal === undefined && secretAt(reserved, verdict.by).kind !== 'PASSWORD';
      return { reserved, verdict, done: isCompletedFirst ? { answer: await complete?.(verdict.values ?? []) } : undefined };
    } catch (error) {
      paced.release();
      await this.#settling.giveBack(key, reservation);
      throw error;
    }
  }

  /**
   * Settles a right secret. `answer`: that of an attempt which is complete already.
   * @throws {Refusal} that of the verdict, after it is settled
   */
  async #settleRight<P extends SecretAction>(
    { key, use, mark, given, confirmsOnly = false }: KeyUse<P>,
    verdict: RefusedSecret | GrantedSecret,
    reserved: Reserved<P>,
    { reservation, answer }: { readonly reservation?: Reservation; readonly answer?: object | undefined } = {},
  ): Promise<GrantedSecret> {
    const secret = secretAt(reserved, verdict.by);
    const isOwn = secret.kind === 'PASSWORD' || secret.kind === 'AUTH_TOKEN';
    const { change, purpose, steps } = verdict.refusal === undefined ? verdict : {};
    const holding = { states: storedStatesFor(use), mac: isOwn ? secret.mac : undefined };
    const setsBack = isGuarded(secret, key);
    const singleUse = isActivationData(secret.kind) ? 'the activation data' : 'the one-time password';
    const usedUp = !isOwn && verdict.usesUp ? singleUse : undefined;
    const outcome = outcomeOf(verdict, answer);
    if (!confirmsOnly) await this.#settling.right(key, reservation, { use, holding, setsBack, usedUp, change, purpose, steps, outcome });
    else if (reservation !== undefined) await this.#settling.giveBack(key, reservation);
    if (usedUp !== undefined && !confirmsOnly) this.#limits.used(given);
    if (change !== undefined) {
      this.#known.forget(key.id);
    } else if (secret.kind === 'PASSWORD') {
      this.#known.remember(key.id, mark);
      this.#candidates.keep({ mark }, reserved, secret);
    }
    if (verdict.refusal !== undefined) throw verdict.refusal;
    if (change === undefined && purpose === undefined && !confirmsOnly) await this.#renewal?.renew(key, reserved, secret);
    return verdict;
  }
}
