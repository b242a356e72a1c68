import { auditSteps } from '../audit/audited-request.ts';
import { Refusal } from '../result-codes.ts';
import type { StateStore } from '../state/state-store.ts';
import { step } from '../state/step.ts';
import type { KeyId } from '../token/key-id.ts';
import { checkNotLocked, checkUsable, isLocked, lockRule, remainingAttempts, type KeyRecord } from './key-record.ts';
import { KnownSecrets } from './known-secrets.ts';
import { reserve, type Purpose, type Reserved } from './reserved.ts';

/** What the token said to an attempt: that the secret is wrong, or what it made. */
export type Attempt<T> = { readonly verified: false } | { readonly verified: true; readonly value: T };

interface InFlight {
  attempts: number;
  /** Woken, all of them, when an attempt has been settled. */
  waiting: (() => void)[];
}

/**
 * Activation (contract §6): an attempt is reserved, brought to the token, and settled. No more attempts on a key are in flight than it has
 * left, so parallel guesses gain nothing; a failure is on the disk before its answer leaves. A fault of the service itself counts for nothing.
 */
export class Activation {
  readonly #store: StateStore;
  readonly #known = new KnownSecrets();
  readonly #inFlight = new Map<KeyId, InFlight>();

  constructor(store: StateStore) {
    this.#store = store;
  }

  /** @throws {Refusal} KEY_STATE, KEY_LOCKED, or ACTIVATION_FAILED for a wrong secret. */
  async activate<P extends Purpose, T>(
    key: KeyRecord,
    secret: Uint8Array,
    use: (reserved: Reserved<P>) => Promise<Attempt<T>>,
  ): Promise<T> {
    const attempt = await this.attempt(key, secret, use);
    if (!attempt.verified) throw new Refusal('ACTIVATION_FAILED');
    return attempt.value;
  }

  /** The same, with a wrong secret as an answer. */
  async attempt<P extends Purpose, T>(
    key: KeyRecord,
    secret: Uint8Array,
    use: (reserved: Reserved<P>) => Promise<Attempt<T>>,
    allowExpired = false,
  ): Promise<Attempt<T>> {
    checkUsable(key, Date.now(), allowExpired);
    const mark = this.#known.markOf(key.id, secret);
    if (this.#known.knows(key.id, mark)) return this.#settle(key, mark, await use(reserve(key, secret)));
    const release = await this.#reserveAttempt(key);
    try {
      checkUsable(key, Date.now(), allowExpired);
      return await this.#settle(key, mark, await use(reserve(key, secret)));
    } finally {
      release();
    }
  }

  /** Whether attempts on the key are in flight or wait. */
  isBusy(key: KeyRecord): boolean {
    return this.#inFlight.has(key.id);
  }

  /** A key that is gone has no secrets to remember. */
  forget(key: KeyRecord): void {
    this.#known.forget(key.id);
  }

  async #reserveAttempt(key: KeyRecord): Promise<() => void> {
    for (;;) {
      checkNotLocked(key, Date.now());
      const state = this.#inFlight.get(key.id) ?? { attempts: 0, waiting: [] };
      if (state.attempts < remainingAttempts(key, Date.now())) {
        state.attempts += 1;
        this.#inFlight.set(key.id, state);
        return () => {
          state.attempts -= 1;
          for (const wake of state.waiting.splice(0)) wake();
          if (state.attempts === 0 && state.waiting.length === 0) this.#inFlight.delete(key.id);
        };
      }
      await new Promise<void>((resolve) => {
        state.waiting.push(resolve);
      });
    }
  }

  async #settle<T>(key: KeyRecord, mark: ReturnType<KnownSecrets['markOf']>, attempt: Attempt<T>): Promise<Attempt<T>> {
    if (attempt.verified) {
      this.#known.remember(key.id, mark);
      if (key.failuresSinceSuccess > 0 && !isLocked(key, Date.now())) {
        await this.#store.commit([step('clearFailures', key.reference), ...auditSteps('the failed attempts are cleared')]);
        Object.assign(key, { failuresInRow: 0, failuresSinceSuccess: 0, lockedUntil: undefined });
      }
      return attempt;
    }
    const rule = { failuresInRow: lockRule.failuresInRow, lockMs: lockRule.lockMs, now: Date.now() };
    const failure = step('recordFailure', { reference: key.reference, rule });
    const [counters] = await this.#store.commit([failure, ...auditSteps('a failed attempt is counted')]);
    key.failuresInRow = counters.failures_in_row;
    key.failuresSinceSuccess = counters.failures_since_success;
    key.lockedUntil = counters.locked_until ?? undefined;
    return attempt;
  }
}
