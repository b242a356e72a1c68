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
import type { KeyCache } from './key-cache.ts';
import { checkUsable, lockRule, setCounters, storedSecret, type ActivatableKey } from './key-record.ts';
import type { Use } from './states.ts';

/** A reservation of an attempt in the store. */
export interface Reservation {
  readonly otp: OtpRow | undefined;
  /** When it expires; milliseconds on the monotonic clock. */
  readonly endsMs: number;
}

/**
 * An action of another room that a right secret authorises, in the commit that settles the secret.
 */
export interface CommittedPurpose {
  readonly steps: readonly Step[];
  /** Text for the audit log. */
  readonly effect: string;
  readonly change?: StateChange | undefined;
  /** Answer to the caller. */
  readonly answer: object;
}

/** Result of asking the token: the secret is wrong, or it is right and this follows. */
export type Verdict = { readonly verified: false } | RefusedSecret | GrantedSecret;

interface RightSecret {
  readonly verified: true;
  /** Index of the secret among the candidates. */
  readonly by: number;
  /** True if the verified one-time password is used up. */
  readonly usesUp: boolean;
}

/** A refusal despite a right secret: the attempt is settled, and nothing further is done. */
export interface RefusedSecret extends RightSecret {
  readonly refusal: Refusal;
}

export interface GrantedSecret extends RightSecret {
  readonly refusal?: undefined;
  /** Change committed with the settlement. */
  readonly change?: KeyChange | undefined;
  /** Action of another room, committed with the settlement, so that both are done or neither. */
  readonly purpose?: CommittedPurpose | undefined;
  /** Further steps of the same commit. */
  readonly steps?: readonly Step[] | undefined;
  /** Signature values, if the token has signed. */
  readonly values?: readonly Uint8Array[] | undefined;
}

/** Effects of a right secret. */
export interface Gain {
  readonly use: Use;
  /** Conditions that must still hold. */
  readonly holding: Holding;
  /** True if the counted failures were guesses at this secret, which then resets the count. */
  readonly setsBack: boolean;
  /** What is used up: the secret that was right, in words for the audit log. */
  readonly usedUp: 'the one-time password' | 'the activation data' | undefined;
  readonly change: KeyChange | undefined;
  readonly purpose?: CommittedPurpose | undefined;
  /** Further steps of the same commit. */
  readonly steps?: readonly Step[] | undefined;
  /** The outcome for the caller, if it is already known. */
  readonly outcome: SettledOutcome | undefined;
}

const retryMs = 250;

/** Makes the second of the two commits of an activation. */
export class Settling {
  readonly #store: StateStore;
  readonly #cache: Pick<KeyCache, 'reread'>;

  constructor(store: StateStore, cache: Pick<KeyCache, 'reread'>) {
    this.#store = store;
    this.#cache = cache;
  }

  /** Gives an attempt back after a fault of the service itself. */
  async giveBack(key: ActivatableKey, reservation: Reservation): Promise<void> {
    await this.#now(key, reservation, 'fault').catch((error: unknown) => {
      this.#later(key, reservation, 'fault', error);
    });
  }

  async wrong(key: ActivatableKey, reservation: Reservation): Promise<void> {
    const work = step('settleUse', this.#settlement(key, reservation, 'wrong', 'failed'));
    const outcome = await outcomeSteps({ refusal: new Refusal('ACTIVATION_FAILED') });
    try {
      const [counters] = await this.#store.commit([
        work,
        ...auditSteps('a failed attempt is counted', { kind: 'failed attempt', ...identityOf(key) }),
        ...outcome,
      ]);
      if (counters !== undefined) setCounters(key, counters);
    } catch (error) {
      // If another instance has the request by now, it counts the failure. Otherwise the failure is
      // counted as soon as the store answers.
      if (isFault(error, 'CLAIM_LOST')) await this.giveBack(key, reservation);
      else this.#later(key, reservation, 'wrong', error);
      throw error;
    }
  }

  /**
   * Settles a right secret. Nothing is written if nothing changes and no party to the request needs
   * a commit: a password without a reservation, on a key without failures.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED, ACTIVATION_FAILED if the conditions for the use no
   *   longer hold
   */
  async right(
    key: ActivatableKey,
    reservation: Reservation | undefined,
    { use, holding, setsBack, usedUp, change, purpose, steps = [], outcome }: Gain,
  ): Promise<void> {
    const changes = reservation !== undefined || change !== undefined || purpose !== undefined || key.failuresSinceSuccess > 0;
    if (!changes && !(outcome !== undefined && settlementIsNeeded())) return;
    const fate = usedUp === undefined ? 'kept' : 'used';
    const work = step('settleUse', { ...this.#settlement(key, reservation, 'right', fate), change, holding, setsBack });
    const kept = outcome === undefined ? [] : await outcomeSteps(outcome);
    const told = effectOf(key, change, purpose, usedUp);
    try {
      const [counters] = await this.#store.commit([
        work,
        ...(purpose?.steps ?? []),
        ...steps,
        ...auditSteps(told.effect, told.change),
        ...kept,
      ]);
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

  async #lost(key: ActivatableKey, use: Use, fault: Fault): Promise<never> {
    await this.#cache.reread(key);
    checkUsable(key, use, this.#store.now());
    throw refusalOf(fault);
  }

  async #now(key: ActivatableKey, reservation: Reservation, verdict: 'wrong' | 'fault'): Promise<void> {
    const counters = await this.#store.run(
      'settleUse',
      this.#settlement(key, reservation, verdict, verdict === 'wrong' ? 'failed' : 'kept'),
    );
    if (counters !== undefined) setCounters(key, counters);
  }

  /**
   * Retries until the store answers or the reservation has expired. If the settlement may already
   * have been done, the reservation is left to expire: settling twice would end the reservation of
   * another attempt.
   */
  #later(key: ActivatableKey, reservation: Reservation, verdict: 'wrong' | 'fault', cause: unknown): void {
    if (isFault(cause, 'COMMIT_UNKNOWN') || performance.now() + retryMs > reservation.endsMs) return;
    setTimeout(() => {
      this.#now(key, reservation, verdict).catch((error: unknown) => {
        this.#later(key, reservation, verdict, error);
      });
    }, retryMs).unref();
  }

  #settlement(
    { table, reference }: ActivatableKey,
    reservation: Reservation | undefined,
    verdict: UseSettlement['verdict'],
    fate: OtpFate,
  ): UseSettlement {
    const otp = reservation?.otp;
    return {
      table,
      reference,
      rule: { ...lockRule, now: this.#store.now() },
      reserved: reservation !== undefined,
      verdict,
      otp: otp === undefined ? undefined : { otpId: otp.otp_id, fate },
    };
  }
}

/**
 * Returns the outcome for the caller, if it is already known. `answer`: that of an attempt which is
 * complete before it is settled.
 */
export function outcomeOf(verdict: RefusedSecret | GrantedSecret, answer: object | undefined): SettledOutcome | undefined {
  if (verdict.refusal !== undefined) return { refusal: verdict.refusal };
  const known = answer ?? verdict.purpose?.answer;
  return known === undefined ? undefined : { answer: known };
}

function effectOf(
  key: ActivatableKey,
  change: KeyChange | undefined,
  purpose: CommittedPurpose | undefined,
  usedUp: Gain['usedUp'],
): Effect {
  const { effect, change: told } = purpose ?? effectOfKey(key, change);
  return { effect: usedUp === undefined ? effect : `${effect}; ${usedUp} is used up`, change: told };
}

function effectOfKey(key: ActivatableKey, change: KeyChange | undefined): Effect {
  if (change === undefined) return { effect: 'the secret was right' };
  if (change.kind === 'end') return { effect: 'the key is out of use', change: { kind: 'key end', state: change.to } };
  return { effect: 'the password of the key was changed', change: { kind: 'password', ...identityOf(key) } };
}

/** Names the row of an identity's key, which the record's `keyReference` does not. */
function identityOf({ table, reference }: ActivatableKey): { readonly identity?: string } {
  return table === 'identity_keys' ? { identity: reference } : {};
}
