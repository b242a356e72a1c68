import type { KeyId } from '../token/key-id.ts';
import { TokenUnavailable } from '../token/token.ts';
import { checkNotLocked, type ActivatableKey, remainingAttempts } from './key-record.ts';

/**
 * Thrown if other requests that use the key have not ended in time. Nothing is wrong with the
 * token. The message is for callers.
 */
export class KeyInUse extends TokenUnavailable {
  constructor() {
    super(
      'other requests that use this key did not end in time (one may be waiting for a time-stamp); nothing was done, and it is safe to repeat the request',
      { nothingDone: true },
    );
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

  /**
   * Takes a slot and returns the function that releases it. `deadlineMs`: on the monotonic clock.
   * @throws {Refusal} KEY_LOCKED
   * @throws {KeyInUse} if the attempts before it have not ended by the deadline
   */
  async take(key: ActivatableKey, atOnce: number, deadlineMs: number): Promise<() => void> {
    for (;;) {
      checkNotLocked(key, this.#now());
      const state = this.#inFlight.get(key.id) ?? { attempts: 0, waiting: new Set() };
      if (state.attempts < Math.min(atOnce, remainingAttempts(key, this.#now()))) {
        state.attempts += 1;
        this.#inFlight.set(key.id, state);
        return () => {
          state.attempts -= 1;
          this.#wakeAll(state);
          this.#dropIfIdle(key, state);
        };
      }
      if (!(await wokenBefore(deadlineMs, state.waiting))) {
        this.#dropIfIdle(key, state);
        throw new KeyInUse();
      }
    }
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

async function wokenBefore(deadlineMs: number, waiting: Set<() => void>): Promise<boolean> {
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
