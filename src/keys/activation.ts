import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../result-codes.ts';
import { settlementIsNeeded } from '../state/settlement.ts';
import type { StateStore } from '../state/state-store.ts';
import type { OtpRow } from '../state/tables/keys.ts';
import { AttemptSlots, KeyInUse } from './attempt-slots.ts';
import type { GivenSecret, OtpAction } from './credentials.ts';
import type { RecordReader } from './key-cache.ts';
import { checkUsable, lockRule, type KeyRecord, type StoredSecret } from './key-record.ts';
import { KnownSecrets, type SecretMark } from './known-secrets.ts';
import { isGuarded, reserve, secretAt, type Reserved } from './reserved.ts';
import type { Seals } from './seals.ts';
import { Settling, type Reservation } from './settling.ts';
import { storedStatesFor, type Use } from './states.ts';
import { StretchedPasswords } from './stretching.ts';
import { isCommitted, outcomeOf, type GrantedSecret, type RefusedSecret, type Verdict } from './verdict.ts';

/** A use of a key that needs a secret. */
export interface Asked<P extends OtpAction> {
  readonly use: Use;
  readonly action: P;
  readonly given: GivenSecret;
}

export type Attempt<T> = { readonly verified: false } | { readonly verified: true; readonly value: T };

type Work<P extends OtpAction, T> = (reserved: Reserved<P>) => Promise<Verdict<T>>;

/** Interval at which the store is polled while attempts of other instances are in flight. */
const pollMs = 20;

/**
 * Activates keys (contract §6): two short commits around one message to the token. An attempt is
 * reserved, sent to the token, and settled. A key never has more attempts in flight than it has
 * left, and only one if the secret is an authToken or a one-time password is open, so parallel
 * guesses gain nothing, however many instances there are. A failure is on disk before its answer is
 * sent. A fault of the service itself does not count. A password that the token has accepted before
 * needs no reservation, and its success writes nothing.
 *
 * The key may change while the token works: it may be revoked, put on hold, removed, locked, or get
 * another password. Once such a change is committed, nothing that it forbids is sent. The
 * settlement checks the conditions that it depends on; if no settlement is written, or work follows
 * it, the record is refreshed and checked again at the end.
 */
export class Activation {
  readonly #store: StateStore;
  readonly #records: RecordReader;
  readonly #seals: Pick<Seals, 'noteOtpFault'>;
  readonly #settling: Settling;
  readonly #attemptMaxMs: number;
  readonly #waitMs: number;
  readonly #known = new KnownSecrets();
  readonly #stretched = new StretchedPasswords();
  readonly #slots: AttemptSlots;

  /**
   * `attemptMaxMs`: an attempt older than this was lost with its instance. `waitMs`: how long an
   * attempt waits for those before it.
   */
  constructor(
    store: StateStore,
    records: RecordReader,
    seals: Pick<Seals, 'noteOtpFault'>,
    times: { attemptMaxMs: number; waitMs: number },
  ) {
    this.#store = store;
    this.#records = records;
    this.#seals = seals;
    this.#slots = new AttemptSlots(() => store.now());
    this.#settling = new Settling(store, records);
    this.#attemptMaxMs = times.attemptMaxMs;
    this.#waitMs = times.waitMs;
  }

  /**
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED for a wrong secret, or the refusal
   *   of `work`
   */
  async activate<P extends OtpAction, T>(key: KeyRecord, asked: Asked<P>, work: Work<P, T>): Promise<T> {
    const attempt = await this.attempt(key, asked, work);
    if (!attempt.verified) throw new Refusal('ACTIVATION_FAILED');
    return attempt.value;
  }

  /** As `activate`, but returns the result for a wrong secret instead of throwing. */
  async attempt<P extends OtpAction, T>(key: KeyRecord, asked: Asked<P>, work: Work<P, T>): Promise<Attempt<T>> {
    checkUsable(key, asked.use, this.#store.now());
    const mark = this.#known.markOf(key.id, asked.given);
    if (this.#known.knows(key.id, mark)) {
      const reserved = await this.#reserved(key, asked, mark, 'unasked');
      const verdict = await work(reserved);
      if (verdict.verified) {
        const granted = await this.#settleRight(key, asked, verdict, { mark, reserved });
        return { verified: true, value: await this.#finished(key, asked, granted, reserved) };
      }
      // The password was changed meanwhile. The given secret may still be a one-time password, so
      // this is an attempt like any other.
      this.#known.forget(key.id);
    }
    const finish = await this.#withReservation(key, asked, async (reservation) =>
      this.#reservedAttempt(key, asked, mark, { reservation, work }),
    );
    return finish === undefined ? { verified: false } : { verified: true, value: await finish() };
  }

  /**
   * Verifies a value that is not a secret of the key, such as its transaction: a wrong one counts
   * as a failure, a right one changes nothing.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED
   */
  async confirm<P extends OtpAction>(
    key: KeyRecord,
    asked: Asked<P>,
    verify: (reserved: Reserved<P>) => Promise<{ readonly verified: boolean }>,
  ): Promise<void> {
    checkUsable(key, asked.use, this.#store.now());
    const mark = this.#known.markOf(key.id, asked.given);
    const verified = await this.#withReservation(key, asked, async (reservation) => {
      const outcome = await this.#giveBackOnFault(key, reservation, async () =>
        verify(await this.#reserved(key, asked, mark, reservation.otp)),
      );
      if (outcome.verified) await this.#settling.giveBack(key, reservation);
      else await this.#settling.wrong(key, reservation);
      return outcome.verified;
    });
    if (!verified) throw new Refusal('ACTIVATION_FAILED');
  }

  /**
   * Called before any result of a right secret is released: checks that no change committed
   * meanwhile forbids it. `own`: the key's secret that was verified.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED; ACTIVATION_FAILED if the key has another secret by now
   */
  async #holds(key: KeyRecord, use: Use, own: StoredSecret | undefined): Promise<void> {
    await this.#records.bringUpToDate(key);
    checkUsable(key, use, this.#store.now());
    if (own === undefined || (key.secret !== undefined && Buffer.compare(own.mac, key.secret.mac) === 0)) return;
    throw new Refusal('ACTIVATION_FAILED');
  }

  /**
   * Finishes the work after a right password is settled. The key is checked again before any result
   * is released: by the commit that makes evidence due, or by reading the current record.
   */
  async #finished<P extends OtpAction, T>(key: KeyRecord, { use }: Asked<P>, right: GrantedSecret<T>, reserved: Reserved<P>): Promise<T> {
    const value = await right.finish();
    if (isCommitted(right)) return value;
    const answer = right.answer?.(value);
    if (answer === undefined || !settlementIsNeeded()) {
      await this.#holds(key, use, reserved.own);
      return value;
    }
    const holding = { states: storedStatesFor(use), mac: secretAt(reserved, right.by).mac };
    // The count of failures has already been reset.
    const gain = { use, holding, setsBack: false, usesUpOtp: false, change: undefined, outcome: { answer } };
    await this.#settling.right(key, undefined, gain);
    return value;
  }

  /** Checks whether attempts on the key are in flight or waiting. */
  isBusy(key: KeyRecord): boolean {
    return this.#slots.isBusy(key);
  }

  /** Forgets the remembered secret of a key that has another one or is gone. */
  forget(key: KeyRecord): void {
    this.#known.forget(key.id);
  }

  /** Holds a slot and a reservation in the store during `work`, which settles the reservation. */
  async #withReservation<P extends OtpAction, R>(
    key: KeyRecord,
    asked: Asked<P>,
    work: (reservation: Reservation) => Promise<R>,
  ): Promise<R> {
    const deadlineMs = performance.now() + this.#waitMs;
    const atOnce = asked.given.member === 'authToken' ? 1 : lockRule.failuresInRow;
    const release = await this.#slots.take(key, atOnce, deadlineMs);
    try {
      return await work(await this.#reserveInStore(key, asked, atOnce, deadlineMs));
    } finally {
      release();
    }
  }

  /**
   * Returns the work left to do once a right secret is settled; undefined if the secret was wrong.
   */
  async #reservedAttempt<P extends OtpAction, T>(
    key: KeyRecord,
    asked: Asked<P>,
    mark: SecretMark,
    { reservation, work }: { readonly reservation: Reservation; readonly work: Work<P, T> },
  ): Promise<(() => Promise<T>) | undefined> {
    const { verdict, reserved, done } = await this.#giveBackOnFault(key, reservation, async () => {
      const candidates = await this.#reserved(key, asked, mark, reservation.otp);
      const said = await work(candidates);
      const isFinishedFirst = said.verified && said.refusal === undefined && secretAt(candidates, said.by).kind !== 'PASSWORD';
      return { verdict: said, reserved: candidates, done: isFinishedFirst ? { value: await said.finish() } : undefined };
    });
    if (!verdict.verified) {
      await this.#settling.wrong(key, reservation);
      if (asked.given.member === 'password') await this.#seals.noteOtpFault(key, reservation.otp);
      return undefined;
    }
    const granted = await this.#settleRight(key, asked, verdict, { mark, reserved, reservation, done });
    return async () => (done === undefined ? this.#finished(key, asked, granted, reserved) : done.value);
  }

  async #giveBackOnFault<T>(key: KeyRecord, reservation: Reservation, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.#settling.giveBack(key, reservation);
      throw error;
    }
  }

  async #reserved<P extends OtpAction>(
    key: KeyRecord,
    { given, action }: Asked<P>,
    mark: SecretMark,
    otp: OtpRow | 'unasked' | undefined,
  ): Promise<Reserved<P>> {
    const { secret: own } = key;
    const ownSecret = own?.stretchSalt !== undefined ? await this.#stretched.of(mark, given.bytes, own.stretchSalt) : given.bytes;
    return reserve<P>({ key, own, given, action, ownSecret, otp });
  }

  /** Reserves in the store, which decides regardless of what this instance remembers of the key. */
  async #reserveInStore<P extends OtpAction>(
    key: KeyRecord,
    { use, action, given }: Asked<P>,
    atOnce: number,
    deadlineMs: number,
  ): Promise<Reservation> {
    for (;;) {
      const now = this.#store.now();
      const endsMs = performance.now() + this.#attemptMaxMs;
      checkUsable(key, use, now);
      const reservation = await this.#store.run('reserveUse', {
        reference: key.reference,
        rule: { ...lockRule, now },
        until: now + this.#attemptMaxMs,
        states: storedStatesFor(use),
        atOnce,
        otpAction: given.member === 'password' ? action : undefined,
      });
      if (reservation !== undefined) return { ...reservation, endsMs };
      await this.#records.reread(key);
      checkUsable(key, use, now);
      if (performance.now() > deadlineMs) throw new KeyInUse();
      await delay(pollMs);
    }
  }

  /**
   * Settles a right secret. `done`: the result of the work, if it is finished already.
   * @throws {Refusal} the refusal of the verdict, after it is settled
   */
  async #settleRight<P extends OtpAction, T>(
    key: KeyRecord,
    { use }: Asked<P>,
    verdict: RefusedSecret | GrantedSecret<T>,
    { mark, reserved, reservation, done }: Settled<P, T>,
  ): Promise<GrantedSecret<T>> {
    const secret = secretAt(reserved, verdict.by);
    const isOwn = secret.kind === 'PASSWORD' || secret.kind === 'AUTH_TOKEN';
    const { change, purpose } = verdict.refusal === undefined ? verdict : {};
    const holding = { states: storedStatesFor(use), mac: isOwn ? secret.mac : undefined };
    const setsBack = isGuarded(secret, key);
    const usesUpOtp = !isOwn && verdict.usesUp;
    const outcome = outcomeOf(verdict, done);
    await this.#settling.right(key, reservation, { use, holding, setsBack, usesUpOtp, change, purpose, outcome });
    if (change !== undefined) {
      this.#known.forget(key.id);
    } else if (secret.kind === 'PASSWORD') {
      this.#known.remember(key.id, mark);
      const stretchSalt = reserved.own?.stretchSalt;
      if (stretchSalt !== undefined) this.#stretched.keep(mark, stretchSalt, secret.secret);
    }
    if (verdict.refusal !== undefined) throw verdict.refusal;
    return verdict;
  }
}

interface Settled<P extends OtpAction, T> {
  readonly mark: SecretMark;
  readonly reserved: Reserved<P>;
  readonly reservation?: Reservation;
  readonly done?: { readonly value: T } | undefined;
}
