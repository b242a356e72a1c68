import { auditSteps } from '../audit/audited-request.ts';
import { Refusal } from '../result-codes.ts';
import type { OtpFate } from '../state/repositories/otps.ts';
import { useIsLost, type KeyChange, type UseSettlement } from '../state/repositories/uses.ts';
import type { OtpRow } from '../state/schema.ts';
import type { StateStore } from '../state/state-store.ts';
import { outcomeSteps, type SettledOutcome } from '../state/settlement.ts';
import { step, type Step } from '../state/step.ts';
import { checkUsable, lockRule, setCounters, type KeyRecord } from './key-record.ts';
import type { Use } from './states.ts';

/** What was reserved in the store for an attempt. */
export interface Reservation {
  readonly otp: OtpRow | undefined;
}

/** What another room does with a right secret, in the commit that settles it. */
export interface CommittedPurpose {
  readonly steps: readonly Step[];
  /** For the audit log. */
  readonly effect: string;
  /** What the caller is answered. */
  readonly answer: object;
  /** Whether a commit failed because the steps could not be done any more: then nothing of it is done, and the secret is given back. */
  isLost(error: unknown): boolean;
}

/** What a right secret leads to. */
export interface Gain {
  readonly use: Use;
  /** The one-time password is used up. */
  readonly usesUpOtp: boolean;
  readonly change: KeyChange | undefined;
  readonly purpose?: CommittedPurpose | undefined;
  /** What the caller is told, where that is known by now. */
  readonly outcome: SettledOutcome | undefined;
}

/** The second of the two commits of an activation. */
export class Settling {
  readonly #store: StateStore;
  readonly #read: (key: KeyRecord) => Promise<void>;

  constructor(store: StateStore, read: (key: KeyRecord) => Promise<void>) {
    this.#store = store;
    this.#read = read;
  }

  /** The service itself failed. */
  async giveBack(key: KeyRecord, reservation: Reservation): Promise<void> {
    // If this fails too, the reservation ends by its time.
    await this.#store.run('settleUse', settlement(key, reservation, 'fault', 'kept')).catch(() => undefined);
  }

  async wrong(key: KeyRecord, reservation: Reservation): Promise<void> {
    const work = step('settleUse', settlement(key, reservation, 'wrong', 'failed'));
    const outcome = await outcomeSteps({ refusal: new Refusal('ACTIVATION_FAILED') });
    const [counters] = await this.#store.commit([work, ...auditSteps('a failed attempt is counted'), ...outcome]);
    if (counters !== undefined) setCounters(key, counters);
  }

  /**
   * Nothing is written where nothing changes: a password that needed no reservation, on a key without failures.
   * @throws {Refusal} KEY_STATE, ACTIVATION_FAILED where somebody else was faster with what the secret was right for
   */
  async right(key: KeyRecord, reservation: Reservation | undefined, { use, usesUpOtp, change, purpose, outcome }: Gain): Promise<void> {
    if (reservation === undefined && change === undefined && purpose === undefined && key.failuresSinceSuccess === 0) return;
    const work = step('settleUse', { ...settlement(key, reservation, 'right', usesUpOtp ? 'used' : 'kept'), change });
    const kept = outcome === undefined ? [] : await outcomeSteps(outcome);
    try {
      const [counters] = await this.#store.commit([
        work,
        ...(purpose?.steps ?? []),
        ...auditSteps(effectOf(change, purpose, usesUpOtp)),
        ...kept,
      ]);
      if (counters !== undefined) setCounters(key, counters);
    } catch (error) {
      if (purpose?.isLost(error) === true && reservation !== undefined) await this.giveBack(key, reservation);
      if (!(error instanceof Error && error.message.includes(useIsLost))) throw error;
      await this.#lost(key, reservation, use);
    }
    if (change?.kind === 'end') key.state = change.to;
    else if (change !== undefined) key.secret = { salt: change.salt, mac: change.mac, stretched: change.stretched === 1 };
  }

  async #lost(key: KeyRecord, reservation: Reservation | undefined, use: Use): Promise<never> {
    if (reservation !== undefined) await this.giveBack(key, reservation);
    await this.#read(key);
    checkUsable(key, use, Date.now());
    throw new Refusal('ACTIVATION_FAILED');
  }
}

function settlement(
  { reference }: KeyRecord,
  reservation: Reservation | undefined,
  verdict: UseSettlement['verdict'],
  fate: OtpFate,
): UseSettlement {
  const otp = reservation?.otp;
  return {
    reference,
    rule: { ...lockRule, now: Date.now() },
    reserved: reservation !== undefined,
    verdict,
    otp: otp === undefined ? undefined : { otpId: otp.otp_id, fate },
  };
}

function effectOf(change: KeyChange | undefined, purpose: CommittedPurpose | undefined, usesUpOtp: boolean): string {
  const what =
    purpose !== undefined
      ? purpose.effect
      : change === undefined
        ? 'the secret was right'
        : change.kind === 'end'
          ? 'the key is out of use'
          : 'the key has another password';
  return usesUpOtp ? `${what}; the one-time password is used up` : what;
}
