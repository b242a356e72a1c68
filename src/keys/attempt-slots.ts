import type { KeyId } from '../token/key-id.ts';
import { TokenUnavailable } from '../token/token.ts';
import { checkNotLocked, type ActivatableKey, remainingAttempts } from './key-record.ts';

/**
 * Thrown if other requests that use the key, or other attempts of the client, have not ended in
 * time. Nothing is wrong with the token. The message is for callers.
 */
export class KeyInUse extends TokenUnavailable {
  constructor(
    message = 'other requests that use this key did not end in time (one may be waiting for a time-stamp); nothing was done, and it is safe to repeat the request',
  ) {
    super(message, { nothingDone: true });
    this.name = 'KeyInUse';
  }
}

interface InFlight {
  attempts: number;
  /** All are woken when an attempt is settled. */
  waiting: Set<() => void>;
}

/**
 * Limits the attempts in flight on a key to those that it has left; further attempts wait until
 * their deadline.
 */
export class AttemptSlots {
  readonly #inFlight = new Map<KeyId, InFlight>();
  readonly #now: () => number;

  /** `now`: time in milliseconds since epoch, on the same clock as locks. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Checks whether attempts on the key are in flight or wait. */
  isBusy(key: ActivatableKey): boolean {
    return this.#inFlight.has(key.id);
  }

  /** Whether another attempt on the key may begin. */
  hasRoom(key: ActivatableKey, atOnce: number): boolean {
    return (this.#inFlight.get(key.id)?.attempts ?? 0) < Math.min(atOnce, remainingAttempts(key, this.#now()));
  }

  /**
   * Waits until another attempt on the key may begin. `deadlineMs`: on the monotonic clock.
   * @throws {Refusal} KEY_LOCKED
   * @throws {KeyInUse} if the attempts before it have not ended by the deadline
   */
  async room(key: ActivatableKey, atOnce: number, deadlineMs: number): Promise<void> {
    for (;;) {
      checkNotLocked(key, this.#now());
      if (this.hasRoom(key, atOnce)) return;
      const state = this.#stateOf(key);
      if (await wokenBefore(deadlineMs, state.waiting)) continue;
      this.#dropIfIdle(key, state);
      throw new KeyInUse();
    }
  }

  /** As `room`, and takes a slot: returns the function that releases it. */
  async take(key: ActivatableKey, atOnce: number, deadlineMs: number): Promise<() => void> {
    do await this.room(key, atOnce, deadlineMs);
    while (!this.hasRoom(key, atOnce));
    const state = this.#stateOf(key);
    state.attempts += 1;
    this.#inFlight.set(key.id, state);
    return () => {
      state.attempts -= 1;
      this.#wakeAll(state);
      this.#dropIfIdle(key, state);
    };
  }

  #stateOf({ id }: ActivatableKey): InFlight {
    return this.#inFlight.get(id) ?? { attempts: 0, waiting: new Set() };
  }

  #wakeAll({ waiting }: InFlight): void {
    const all = [...waiting];
    waiting.clear();
    for (const wake of all) wake();
  }

  #dropIfIdle(key: ActivatableKey, state: InFlight): void {
    if (state.attempts === 0 && state.waiting.size === 0) this.#inFlight.delete(key.id);
  }
}

/** Waits to be woken. Returns false if the deadline (monotonic clock) comes before. */
export async function wokenBefore(deadlineMs: number, waiting: Set<() => void>): Promise<boolean> {
  return new Promise<boolean>((resolve) => {
    const wake = (): void => {
      clearTimeout(timer);
      resolve(true);
    };
    const timer = setTimeout(
      () => {
        waiting.delete(wake);
        resolve(false);
      },
      Math.max(0, deadlineMs - performance.now()),
    );
    waiting.add(wake);
  });
}
