import { setTimeout as delay } from 'node:timers/promises';
import type { StateStore } from '../state/state-store.ts';
import { type AttemptSlots, KeyInUse } from './attempt-slots.ts';
import type { WantedOtp } from '../state/repositories/otps.ts';
import type { GivenSecret, SecretAction } from './credentials.ts';
import type { KeyCache } from './key-cache.ts';
import { checkUsable, lockRule, takesOtps, type ActivatableKey } from './key-record.ts';
import { dataActions } from './reserved.ts';
import type { Reservation } from './settling.ts';
import { storedStatesFor, type Use } from './states.ts';

/** An attempt that is to be reserved. */
interface Wanted {
  readonly key: ActivatableKey;
  readonly use: Use;
  readonly action: SecretAction;
  readonly given: GivenSecret;
}

interface ReservationParts {
  readonly store: StateStore;
  readonly cache: Pick<KeyCache, 'reread'>;
  readonly slots: AttemptSlots;
}

export interface ReservationTimes {
  /** An attempt older than this was lost with its instance. */
  readonly attemptMaxMs: number;
  /** How long an attempt waits for those before it. */
  readonly waitMs: number;
}

/**
 * There is no such activation data. `used data`: another attempt had it, and has used it up
 * meanwhile.
 */
export type NoData = 'no data' | 'used data';

/** Interval at which the store is polled while attempts of other instances are in flight. */
const pollMs = 20;

/**
 * Reserves attempts on keys: first in this instance, then in the store, which all instances share.
 */
export class Reservations {
  readonly #store: StateStore;
  readonly #cache: ReservationParts['cache'];
  readonly #slots: AttemptSlots;
  readonly #times: ReservationTimes;

  constructor({ store, cache, slots }: ReservationParts, times: ReservationTimes) {
    this.#store = store;
    this.#cache = cache;
    this.#slots = slots;
    this.#times = times;
  }

  /**
   * Takes a slot and a reservation in the store; `release` frees the slot.
   * @throws {Refusal} KEY_STATE, KEY_LOCKED
   * @throws {KeyInUse} if the attempts before it have not ended in time
   */
  async take(wanted: Wanted): Promise<{ readonly reservation: Reservation | NoData; readonly release: () => void }> {
    const deadlineMs = performance.now() + this.#times.waitMs;
    const atOnce = atOnceOf(wanted.given);
    const release = await this.#slots.take(wanted.key, atOnce, deadlineMs);
    try {
      return { reservation: await this.#inStore(wanted, atOnce, deadlineMs), release };
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Whether the slots have room for another attempt. */
  hasRoom({ key, given }: Pick<Wanted, 'key' | 'given'>): boolean {
    return this.#slots.hasRoom(key, atOnceOf(given));
  }

  /** Waits until they have, without taking one. @throws as `take` */
  async room({ key, given }: Pick<Wanted, 'key' | 'given'>): Promise<void> {
    await this.#slots.room(key, atOnceOf(given), performance.now() + this.#times.waitMs);
  }

  /** Reserves in the store, which decides regardless of what this instance remembers of the key. */
  async #inStore({ key, use, action, given }: Wanted, atOnce: number, deadlineMs: number): Promise<Reservation | NoData> {
    const { attemptMaxMs } = this.#times;
    let wasBusy = false;
    for (;;) {
      const now = this.#store.now();
      const endsMs = performance.now() + attemptMaxMs;
      checkUsable(key, use, now);
      const reservation = await this.#store.run('reserveUse', {
        table: key.table,
        reference: key.reference,
        rule: { ...lockRule, now },
        until: now + attemptMaxMs,
        states: storedStatesFor(use),
        atOnce,
        otp: wantedOtp(key, action, given),
      });
      if (reservation === 'no data') return wasBusy ? 'used data' : 'no data';
      if (reservation !== undefined) return { ...reservation, endsMs };
      wasBusy = true;
      await this.#cache.reread(key);
      checkUsable(key, use, now);
      if (performance.now() > deadlineMs) throw new KeyInUse();
      await delay(pollMs);
    }
  }
}

/** Returns the one-time password or the activation data that the given secret may be. */
function wantedOtp(key: ActivatableKey, action: SecretAction, given: GivenSecret): WantedOtp | undefined {
  if (!takesOtps(key)) return undefined;
  switch (given.member) {
    case 'password':
    case 'otp':
      return { action };
    case 'sad':
      return given.data === undefined ? undefined : { ...given.data, actions: action === 'EXTEND' ? dataActions : ['SAD'] };
    case 'pin':
    case 'authToken':
    case 'transactionId':
      return undefined;
  }
}

/** Attempts of a key in flight. */
function atOnceOf({ member }: Pick<GivenSecret, 'member'>): number {
  return member === 'authToken' ? 1 : lockRule.failuresInRow;
}
