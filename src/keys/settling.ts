import { auditSteps } from '../audit/audited-request.ts';
import type { Effect, StateChange } from '../audit/effect.ts';
import { isFault, refusalOf, type Fault } from '../faults.ts';
import { Refusal } from '../result-codes.ts';
import type { Holding } from '../state/repositories/attempts.ts';
import type { OtpFate } from '../state/repositories/otps.ts';
import type { KeyChange, UseSettlement } from '../state/repositories/uses.ts';
import type { StateStore } from '../state/state-store.ts';
import { outcomeSteps, settlementIsNeeded, type SettledOutcome } from '../state/settlement.ts';
import { step, type Step } from '../state/step.ts';
import type { OtpRow } from '../state/tables/keys.ts';
import type { RecordReader } from './key-cache.ts';
import { checkUsable, lockRule, setCounters, storedSecret, type KeyRecord } from './key-record.ts';
import type { Use } from './states.ts';

/** What was reserved in the store for an attempt. */
export interface Reservation {
  readonly otp: OtpRow | undefined;
  /** When it ends by itself: of the monotonic clock, milliseconds. */
  readonly endsMs: number;
}

/** What another room does with a right secret, in the commit that settles it. */
export interface CommittedPurpose {
  readonly steps: readonly Step[];
  /** For the audit log. */
  readonly effect: string;
  readonly change: StateChange;
  /** What the caller is answered. */
  readonly answer: object;
}

/** What a right secret leads to. */
export interface Gain {
  readonly use: Use;
  /** What must hold still. */
  readonly holding: Holding;
  /** The failures of the key were guesses at this secret: it ends their count. */
  readonly setsBack: boolean;
  /** The one-time password is used up. */
  readonly usesUpOtp: boolean;
  readonly change: KeyChange | undefined;
  readonly purpose?: CommittedPurpose | undefined;
  /** What the caller is told, where that is known by now. */
  readonly outcome: SettledOutcome | undefined;
}

const retryMs = 250;

/** The second of the two commits of an activation. */
export class Settling {
  readonly #store: StateStore;
  readonly #records: RecordReader;

  constructor(store: StateStore, records: RecordReader) {
    this.#store = store;
    this.#records = records;
  }

  /** The service itself failed. */
  async giveBack(key: KeyRecord, reservation: Reservation): Promise<void> {
    await this.#now(key, reservation, 'fault').catch((error: unknown) => {
      this.#later(key, reservation, 'fault', error);
    });
  }

  async wrong(key: KeyRecord, reservation: Reservation): Promise<void> {
    const work = step('settleUse', this.#settlement(key, reservation, 'wrong', 'failed'));
    const outcome = await outcomeSteps({ refusal: new Refusal('ACTIVATION_FAILED') });
    try {
      const [counters] = await this.#store.commit([
        work,
        ...auditSteps('a failed attempt is counted', { kind: 'failed attempt' }),
        ...outcome,
      ]);
      if (counters !== undefined) setCounters(key, counters);
    } catch (error) {
      // Who has the request by now counts its failure. Otherwise nobody is told of it, and it counts as soon as the store answers.
      if (isFault(error, 'CLAIM_LOST')) await this.giveBack(key, reservation);
      else this.#later(key, reservation, 'wrong', error);
      throw error;
    }
  }

  /**
   * Nothing is written where nothing changes and no party to the request needs a commit: a password that needed no reservation, on a key without failures.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED where what the secret was right for is gone by now
   */
  async right(
    key: KeyRecord,
    reservation: Reservation | undefined,
    { use, holding, setsBack, usesUpOtp, change, purpose, outcome }: Gain,
  ): Promise<void> {
    const changes = reservation !== undefined || change !== undefined || purpose !== undefined || key.failuresSinceSuccess > 0;
    if (!changes && !(outcome !== undefined && settlementIsNeeded())) return;
    const fate = usesUpOtp ? 'used' : 'kept';
    const work = step('settleUse', { ...this.#settlement(key, reservation, 'right', fate), change, holding, setsBack });
    const kept = outcome === undefined ? [] : await outcomeSteps(outcome);
    const told = effectOf(change, purpose, usesUpOtp);
    try {
      const [counters] = await this.#store.commit([work, ...(purpose?.steps ?? []), ...auditSteps(told.effect, told.change), ...kept]);
      if (counters !== undefined) setCounters(key, counters);
    } catch (error) {
      if (reservation !== undefined) {
        if (isFault(error, 'COMMIT_UNKNOWN')) throw error;
        await this.giveBack(key, reservation);
      }
      if (!isFault(error, 'USE_LOST')) throw error;
      await this.#lost(key, use, error);
    }
    if (change?.kind === 'end') key.state = change.to;
    else if (change !== undefined) key.secret = storedSecret(change.salt, change.mac, change.stretched);
  }

  async #lost(key: KeyRecord, use: Use, fault: Fault): Promise<never> {
    await this.#records.reread(key);
    checkUsable(key, use, this.#store.now());
    throw refusalOf(fault);
  }

  async #now(key: KeyRecord, reservation: Reservation, verdict: 'wrong' | 'fault'): Promise<void> {
    const counters = await this.#store.run(
      'settleUse',
      this.#settlement(key, reservation, verdict, verdict === 'wrong' ? 'failed' : 'kept'),
    );
    if (counters !== undefined) setCounters(key, counters);
  }

  /**
   * Tries again until the store answers, or the reservation has ended by its time. What may have been done all the same is left to that time: done
   * twice, it would end the reservation of another attempt.
   */
  #later(key: KeyRecord, reservation: Reservation, verdict: 'wrong' | 'fault', cause: unknown): void {
    if (isFault(cause, 'COMMIT_UNKNOWN') || performance.now() + retryMs > reservation.endsMs) return;
    setTimeout(() => {
      this.#now(key, reservation, verdict).catch((error: unknown) => {
        this.#later(key, reservation, verdict, error);
      });
    }, retryMs).unref();
  }

  #settlement(
    { reference }: KeyRecord,
    reservation: Reservation | undefined,
    verdict: UseSettlement['verdict'],
    fate: OtpFate,
  ): UseSettlement {
    const otp = reservation?.otp;
    return {
      reference,
      rule: { ...lockRule, now: this.#store.now() },
      reserved: reservation !== undefined,
      verdict,
      otp: otp === undefined ? undefined : { otpId: otp.otp_id, fate },
    };
  }
}

function effectOf(change: KeyChange | undefined, purpose: CommittedPurpose | undefined, usesUpOtp: boolean): Effect {
  const { effect, change: told } = purpose ?? effectOfKey(change);
  return { effect: usesUpOtp ? `${effect}; the one-time password is used up` : effect, change: told };
}

function effectOfKey(change: KeyChange | undefined): Effect {
  if (change === undefined) return { effect: 'the secret was right' };
  if (change.kind === 'end') return { effect: 'the key is out of use', change: { kind: 'key end', state: change.to } };
  return { effect: 'the key has another password', change: { kind: 'password' } };
}
