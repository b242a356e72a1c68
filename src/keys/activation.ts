import { setTimeout as delay } from 'node:timers/promises';
import { auditSteps } from '../audit/audited-request.ts';
import { Refusal } from '../result-codes.ts';
import type { StateStore } from '../state/state-store.ts';
import { outcomeSteps } from '../state/settlement.ts';
import { step } from '../state/step.ts';
import { StoreUnavailable } from '../state/store-unavailable.ts';
import type { KeyId } from '../token/key-id.ts';
import { checkNotLocked, checkUsable, lockRule, remainingAttempts, setCounters, type KeyRecord } from './key-record.ts';
import { KnownSecrets, type SecretMark } from './known-secrets.ts';
import { reserve, type Purpose, type Reserved } from './reserved.ts';

/** What the token said to an attempt: that the secret is wrong, or what it made. */
export type Attempt<T> = { readonly verified: false } | { readonly verified: true; readonly value: T };

interface InFlight {
  attempts: number;
  /** Woken, all of them, when an attempt has been settled. */
  waiting: (() => void)[];
}

/** Attempts that other instances have in flight are waited for, by asking again: between tries, and in all. */
const pollMs = 20;
const waitMs = 30_000;

/**
 * Activation (contract §6): an attempt is reserved, brought to the token, and settled. No more attempts on a key are in flight than it has
 * left, so parallel guesses gain nothing; a failure is on the disk before its answer leaves. A fault of the service itself counts for nothing.
 * Reservations are counters in memory; on a store that several instances share they are in the database as well, before the token is asked.
 */
export class Activation {
  readonly #store: StateStore;
  readonly #read: (key: KeyRecord) => Promise<void>;
  readonly #attemptMaxMs: number;
  readonly #known = new KnownSecrets();
  readonly #inFlight = new Map<KeyId, InFlight>();

  /** `read` brings a record up to date; `attemptMaxMs`: what takes longer went down with its instance. */
  constructor(store: StateStore, read: (key: KeyRecord) => Promise<void>, attemptMaxMs: number) {
    this.#store = store;
    this.#read = read;
    this.#attemptMaxMs = attemptMaxMs;
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
    if (this.#known.knows(key.id, mark)) return this.#settle(key, mark, await use(reserve(key, secret)), false);
    const release = await this.#reserveAttempt(key);
    try {
      checkUsable(key, Date.now(), allowExpired);
      if (!this.#store.isShared) return await this.#settle(key, mark, await use(reserve(key, secret)), false);
      await this.#reserveInStore(key, allowExpired);
      return await this.#settle(key, mark, await this.#useOrGiveBack(key, async () => use(reserve(key, secret))), true);
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

  /** The database decides, whatever this instance remembers of the key. */
  async #reserveInStore(key: KeyRecord, allowExpired: boolean): Promise<void> {
    const deadline = performance.now() + waitMs;
    for (;;) {
      const now = Date.now();
      if (
        await this.#store.run('reserveAttempt', { reference: key.reference, rule: { ...lockRule, now }, until: now + this.#attemptMaxMs })
      )
        return;
      await this.#read(key);
      checkUsable(key, now, allowExpired);
      if (performance.now() > deadline) throw new StoreUnavailable('other instances have all attempts on a key in flight');
      await delay(pollMs);
    }
  }

  async #useOrGiveBack<T>(key: KeyRecord, use: () => Promise<Attempt<T>>): Promise<Attempt<T>> {
    try {
      return await use();
    } catch (error) {
      // If this fails too, the reservation ends by its time.
      await this.#store.run('giveBackAttempt', key.reference).catch(() => undefined);
      throw error;
    }
  }

  async #settle<T>(key: KeyRecord, mark: SecretMark, attempt: Attempt<T>, reserved: boolean): Promise<Attempt<T>> {
    const settlement = { reference: key.reference, rule: { ...lockRule, now: Date.now() }, reserved };
    if (attempt.verified) {
      this.#known.remember(key.id, mark);
      if (reserved || key.failuresSinceSuccess > 0) {
        const audited = key.failuresSinceSuccess > 0 ? auditSteps('the failed attempts are cleared') : [];
        const [counters] = await this.#store.commit([step('recordSuccess', settlement), ...audited]);
        setCounters(key, counters);
      }
      return attempt;
    }
    if (this.#known.knows(key.id, mark)) this.#known.forget(key.id);
    const outcome = await outcomeSteps({ refusal: new Refusal('ACTIVATION_FAILED') });
    const [counters] = await this.#store.commit([
      step('recordFailure', settlement),
      ...auditSteps('a failed attempt is counted'),
      ...outcome,
    ]);
    setCounters(key, counters);
    return attempt;
  }
}
