import { auditSteps } from '../audit/audited-request.ts';
import { Refusal } from '../result-codes.ts';
import type { OtpFate } from '../state/repositories/otps.ts';
import type { KeyChange, UseSettlement } from '../state/repositories/uses.ts';
import type { OtpRow } from '../state/schema.ts';
import type { StateStore } from '../state/state-store.ts';
import { step } from '../state/step.ts';
import { checkUsable, lockRule, setCounters, type KeyRecord } from './key-record.ts';
import type { Use } from './states.ts';

/** What was reserved in the store for an attempt. */
export interface Reservation {
  readonly otp: OtpRow | undefined;
}

/** What a right secret leads to. */
export interface Gain {
  readonly use: Use;
  /** The one-time password is used up. */
  readonly usesUpOtp: boolean;
  readonly change: KeyChange | undefined;
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
    const [{ counters }] = await this.#store.commit([work, ...auditSteps('a failed attempt is counted')]);
    if (counters !== undefined) setCounters(key, counters);
  }

  /**
   * Nothing is written where nothing changes: a password that needed no reservation, on a key without failures.
   * @throws {Refusal} KEY_STATE, ACTIVATION_FAILED where somebody else was faster with what the secret was right for
   */
  async right(key: KeyRecord, reservation: Reservation | undefined, { use, usesUpOtp, change }: Gain): Promise<void> {
    if (reservation === undefined && change === undefined && key.failuresSinceSuccess === 0) return;
    const work = step('settleUse', { ...settlement(key, reservation, 'right', usesUpOtp ? 'used' : 'kept'), change });
    const [{ lost, counters }] = await this.#store.commit([work, ...auditSteps(effectOf(change, usesUpOtp))]);
    if (counters !== undefined) setCounters(key, counters);
    if (lost !== undefined) {
      await this.#read(key);
      checkUsable(key, use, Date.now());
      throw new Refusal('ACTIVATION_FAILED');
    }
    if (change?.kind === 'end') key.state = change.to;
    else if (change !== undefined) key.secret = { salt: change.salt, mac: change.mac, stretched: change.stretched === 1 };
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

function effectOf(change: KeyChange | undefined, usesUpOtp: boolean): string {
  const what =
    change === undefined ? 'the secret was right' : change.kind === 'end' ? 'the key is out of use' : 'the key has another password';
  return usesUpOtp ? `${what}; the one-time password is used up` : what;
}
