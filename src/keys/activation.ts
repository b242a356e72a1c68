import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../result-codes.ts';
import { settlementIsNeeded } from '../state/settlement.ts';
import type { StateStore } from '../state/state-store.ts';
import type { OtpRow } from '../state/tables/keys.ts';
import { AttemptSlots } from './attempt-slots.ts';
import type { GivenSecret, OtpAction } from './credentials.ts';
import type { RecordReader } from './key-cache.ts';
import { KeyInUse } from './key-in-use.ts';
import { checkUsable, lockRule, type KeyRecord, type StoredSecret } from './key-record.ts';
import { KnownSecrets, type SecretMark } from './known-secrets.ts';
import { reserve, type PossibleSecret, type Reserved } from './reserved.ts';
import type { Seals } from './seals.ts';
import { Settling, type Reservation } from './settling.ts';
import { storedStatesFor, type Use } from './states.ts';
import { StretchedPasswords } from './stretching.ts';
import { isCommitted, outcomeOf, type GrantedSecret, type RefusedSecret, type Verdict } from './verdict.ts';

/** What is asked of a key with a secret. */
export interface Asked<P extends OtpAction> {
  readonly use: Use;
  readonly action: P;
  readonly given: GivenSecret;
}

export type Attempt<T> = { readonly verified: false } | { readonly verified: true; readonly value: T };

type Work<P extends OtpAction, T> = (reserved: Reserved<P>) => Promise<Verdict<T>>;

/** Attempts that others have in flight are waited for, by asking again. */
const pollMs = 20;

/**
 * Activation (contract §6) is two short commits around one message to the token: an attempt is reserved, brought to the token, and settled. No
 * more attempts on a key are in flight than it has left, and one alone with an authToken or beside an open one-time password, so parallel guesses
 * gain nothing, on however many instances; a failure is on the disk before its answer leaves. A fault of the service itself counts for nothing. A
 * password that the token has accepted before needs no reservation, and its success writes nothing.
 *
 * What decided may change while the token works: the key is revoked, held, removed, locked, given another password. Nothing leaves that such a change,
 * once it was committed, forbids: the settlement is bound to what it goes by, and where none is written, or something takes time after it, the record is
 * brought up to date at the end and looked at again.
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

  /** `attemptMaxMs`: what takes longer went down with its instance; `waitMs`: how long an attempt waits for those before it. */
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

  /** @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED for a wrong secret, or what `work` refuses with. */
  async activate<P extends OtpAction, T>(key: KeyRecord, asked: Asked<P>, work: Work<P, T>): Promise<T> {
    const attempt = await this.attempt(key, asked, work);
    if (!attempt.verified) throw new Refusal('ACTIVATION_FAILED');
    return attempt.value;
  }

  /** The same, with a wrong secret as an answer. */
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
      // The key has another password by now. What was given may still be a one-time password: it is an attempt like any other.
      this.#known.forget(key.id);
    }
    const finish = await this.#withReservation(key, asked, async (reservation) =>
      this.#reservedAttempt(key, asked, mark, { reservation, work }),
    );
    return finish === undefined ? { verified: false } : { verified: true, value: await finish() };
  }

  /**
   * Verifies what is no secret of the key, such as its transaction: a wrong one counts, a right one changes nothing.
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
   * Before anything leaves for a secret that was right: nothing that was committed meanwhile forbids it. `own`: the secret of the key that it was.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED; ACTIVATION_FAILED where the key has another secret by now
   */
  async #holds(key: KeyRecord, use: Use, own: StoredSecret | undefined): Promise<void> {
    await this.#records.bringUpToDate(key);
    checkUsable(key, use, this.#store.now());
    if (own === undefined || (key.secret !== undefined && Buffer.compare(own.mac, key.secret.mac) === 0)) return;
    throw new Refusal('ACTIVATION_FAILED');
  }

  /**
   * Does what is left to do for a password that is settled. Nothing leaves before the key was looked at again: by the commit that makes evidence due, or by a
   * look at the record as it is by then.
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
    // The count of failures is ended already.
    const gain = { use, holding, setsBack: false, usesUpOtp: false, change: undefined, outcome: { answer } };
    await this.#settling.right(key, undefined, gain);
    return value;
  }

  /** Whether attempts on the key are in flight or wait. */
  isBusy(key: KeyRecord): boolean {
    return this.#slots.isBusy(key);
  }

  /** A key that has another secret, or is gone, has none to remember. */
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

  /** Returns what is left to do once the secret was right and is settled; undefined where it was wrong. */
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

  /** The store decides, whatever this instance remembers of the key. */
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

  /** `done`: what the work came to, where it is finished before. @throws {Refusal} that of the verdict, once it is settled */
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

/**
 * Whether the failures that a key counts are guesses at a secret of this kind: at its own secret, and at one-time passwords where it has none. Whoever is
 * given one-time passwords could else go on guessing at the password between them.
 */
function isGuarded({ kind }: PossibleSecret, { protocol }: KeyRecord): boolean {
  return kind !== 'TRANSACTION' && (protocol === 'OTP') === kind.startsWith('OTP_');
}

function secretAt<P extends OtpAction>({ candidates }: Reserved<P>, by: number): PossibleSecret {
  const secret = candidates[by];
  if (secret === undefined) throw new Error(`the token answers candidate ${by} of ${candidates.length}`);
  return secret;
}
