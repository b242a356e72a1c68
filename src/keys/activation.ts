import { setTimeout as delay } from 'node:timers/promises';
import { Refusal } from '../result-codes.ts';
import type { KeyChange } from '../state/repositories/uses.ts';
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
import { Settling, type CommittedPurpose, type Reservation } from './settling.ts';
import { storedStatesFor, type Use } from './states.ts';
import { StretchedPasswords } from './stretching.ts';

/** What is asked of a key with a secret. */
export interface Asked<P extends OtpAction> {
  readonly use: Use;
  readonly action: P;
  readonly given: GivenSecret;
}

/** What the token said to an attempt: that the secret is wrong, or what follows from its being right. */
export type Verdict<T> = { readonly verified: false } | RightSecret<T>;

export interface RightSecret<T> {
  readonly verified: true;
  /** The place of the secret among the candidates. */
  readonly by: number;
  /** A one-time password that was right is used up. */
  readonly usesUp: boolean;
  /** Committed with the settlement. */
  readonly change?: KeyChange | undefined;
  /** What the secret is for, where another room does it: committed with the settlement, so that both are done or neither. */
  readonly purpose?: CommittedPurpose | undefined;
  /** Why the caller is refused although the secret is right: then it is settled, and nothing is finished. */
  readonly refusal?: Refusal | undefined;
  /** What is left to do. With a secret of one use it comes first: if it fails, the secret is given back. */
  readonly finish: () => Promise<T>;
  /** What the caller is answered, so that the settlement keeps it. */
  readonly answer?: (value: T) => object;
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
        await this.#settleRight(key, asked, verdict, { mark, reserved });
        return { verified: true, value: await this.#finished(key, asked, verdict, reserved) };
      }
      // The key has another password by now. What was given may still be a one-time password: it is an attempt like any other.
      this.#known.forget(key.id);
    }
    const finish = await this.#reservedAttempt(key, asked, mark, work);
    return finish === undefined ? { verified: false } : { verified: true, value: await finish() };
  }

  /**
   * Before anything leaves for a secret that was right: nothing that was committed meanwhile forbids it. `own`: the secret of the key that it was.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED; ACTIVATION_FAILED where the key has another secret by now
   */
  async #confirm(key: KeyRecord, use: Use, own: StoredSecret | undefined): Promise<void> {
    await this.#records.bringUpToDate(key);
    checkUsable(key, use, this.#store.now());
    if (own === undefined || (key.secret !== undefined && Buffer.compare(own.mac, key.secret.mac) === 0)) return;
    throw new Refusal('ACTIVATION_FAILED');
  }

  /**
   * Does what is left to do for a password that is settled. Nothing leaves before the key was looked at again: by the commit that makes evidence due, or by a
   * look at the record as it is by then.
   */
  async #finished<P extends OtpAction, T>(key: KeyRecord, { use }: Asked<P>, right: RightSecret<T>, reserved: Reserved<P>): Promise<T> {
    const value = await right.finish();
    if (isCommitted(right)) return value;
    const answer = right.answer?.(value);
    if (answer === undefined || !settlementIsNeeded()) {
      await this.#confirm(key, use, reserved.own);
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

  /** Answers what is left to do once the secret was right and is settled. */
  async #reservedAttempt<P extends OtpAction, T>(
    key: KeyRecord,
    asked: Asked<P>,
    mark: SecretMark,
    work: Work<P, T>,
  ): Promise<(() => Promise<T>) | undefined> {
    const deadlineMs = performance.now() + this.#waitMs;
    const atOnce = asked.given.member === 'authToken' ? 1 : lockRule.failuresInRow;
    const release = await this.#slots.take(key, atOnce, deadlineMs);
    try {
      const reservation = await this.#reserveInStore(key, asked, atOnce, deadlineMs);
      const { verdict, reserved, answer, finish } = await this.#giveBackOnFault(key, reservation, async () => {
        const candidates = await this.#reserved(key, asked, mark, reservation.otp);
        const said = await work(candidates);
        const ended = { verdict: said, reserved: candidates, answer: undefined };
        if (!said.verified) return { ...ended, finish: undefined };
        if (said.refusal !== undefined) return { ...ended, finish: said.finish };
        if (secretAt(candidates, said.by).kind === 'PASSWORD') {
          return { ...ended, finish: async () => this.#finished(key, asked, said, candidates) };
        }
        const value = await said.finish();
        return { ...ended, answer: said.answer?.(value), finish: async () => Promise.resolve(value) };
      });
      if (!verdict.verified) {
        await this.#settling.wrong(key, reservation);
        if (asked.given.member === 'password') await this.#seals.noteOtpFault(key, reservation.otp);
        return undefined;
      }
      await this.#settleRight(key, asked, verdict, { mark, reserved, reservation, answer });
      return finish;
    } finally {
      release();
    }
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

  async #settleRight<P extends OtpAction, T>(
    key: KeyRecord,
    { use }: Asked<P>,
    { by, usesUp, change, purpose, refusal }: RightSecret<T>,
    {
      mark,
      reserved,
      reservation,
      answer,
    }: { mark: SecretMark; reserved: Reserved<P>; reservation?: Reservation; answer?: object | undefined },
  ): Promise<void> {
    const secret = secretAt(reserved, by);
    const isOwn = secret.kind === 'PASSWORD' || secret.kind === 'AUTH_TOKEN';
    const settled = answer ?? purpose?.answer;
    const outcome = refusal !== undefined ? { refusal } : settled === undefined ? undefined : { answer: settled };
    const holding = { states: storedStatesFor(use), mac: isOwn ? secret.mac : undefined };
    const setsBack = isGuarded(secret, key);
    await this.#settling.right(key, reservation, { use, holding, setsBack, usesUpOtp: !isOwn && usesUp, change, purpose, outcome });
    if (change !== undefined) {
      this.#known.forget(key.id);
    } else if (secret.kind === 'PASSWORD') {
      this.#known.remember(key.id, mark);
      const stretchSalt = reserved.own?.stretchSalt;
      if (stretchSalt !== undefined) this.#stretched.keep(mark, stretchSalt, secret.secret);
    }
    if (refusal !== undefined) throw refusal;
  }
}

/**
 * Whether the failures that a key counts are guesses at a secret of this kind: at its own secret, and at one-time passwords where it has none. Whoever is
 * given one-time passwords could else go on guessing at the password between them.
 */
function isGuarded({ kind }: PossibleSecret, { protocol }: KeyRecord): boolean {
  return kind !== 'TRANSACTION' && (protocol === 'OTP') === kind.startsWith('OTP_');
}

/** What the secret was for is done by the settlement, which holds only what it found to be so. */
function isCommitted<T>({ change, purpose }: RightSecret<T>): boolean {
  return change !== undefined || purpose !== undefined;
}

function secretAt<P extends OtpAction>({ candidates }: Reserved<P>, by: number): PossibleSecret {
  const secret = candidates[by];
  if (secret === undefined) throw new Error(`the token answers candidate ${by} of ${candidates.length}`);
  return secret;
}
