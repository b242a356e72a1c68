import { callerNow } from '../clients/current-caller.ts';
import type { Caller } from '../clients/caller.ts';
import type { LimitsConfig } from '../config/limits-config.ts';
import { resultCodes } from '../result-codes.ts';
import type { StateStore } from '../state/state-store.ts';
import { KeyInUse, wokenBefore } from './attempt-slots.ts';
import { SecretBuckets, type Bucket, type PaceSubject } from './secret-buckets.ts';

export type PaceLimits = Pick<
  LimitsConfig,
  'wrongSecretsBurstPerClient' | 'wrongSecretsPerMinutePerClient' | 'wrongSecretsBurstPerTenant' | 'wrongSecretsPerMinutePerTenant'
>;

/** Whose pace is exceeded. */
export type PaceScope = 'client' | 'tenant';

/**
 * Too many wrong secrets came from the client or its tenant: none is compared before the time has
 * passed, so that not even a right one is told from a wrong one.
 */
export class SecretsPaced extends Error {
  readonly scope: PaceScope;
  readonly retryAfterSeconds: number;

  constructor(scope: PaceScope, retryAfterSeconds: number) {
    super(resultCodes.TOO_MANY_WRONG_SECRETS.text);
    this.name = 'SecretsPaced';
    this.scope = scope;
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** An attempt that has a place in the paces, until it is known whether its secret was right. */
export interface PacedAttempt {
  /** The secret was not wrong, or was not compared. Nothing is counted. */
  release(): void;
  /** The secret was wrong: it is counted, and the count is in the state store on return. */
  wrong(): Promise<void>;
}

export interface SecretPaceOptions {
  /** The limits in force. */
  readonly limits: () => PaceLimits;
  /** Called for each attempt that is refused. */
  readonly refused?: ((scope: PaceScope, caller: Caller) => void) | undefined;
  /** Called for each wrong secret that is counted. */
  readonly counted?: (() => void) | undefined;
}

/** Outside of a request, nothing is counted. */
export const unpaced: PacedAttempt = { release: () => undefined, wrong: async () => Promise.resolve() };

/**
 * Limits the rate of wrong secrets by client and by tenant, over all keys (NIST SP 800-63B §5.2.2),
 * beside the rule that locks a single key. Each has a token bucket, which only wrong secrets empty;
 * it is kept in the state store, so that neither a restart nor another instance begins anew.
 *
 * An attempt takes a place before its secret is compared: of a client or a tenant, no more secrets
 * are compared at a time than may still be wrong. The places are counted in each instance. Guesses
 * that come to several instances at the same moment may exceed the bucket; it is then in debt, so
 * that the rate holds over time.
 */
export class SecretPace {
  readonly #buckets: SecretBuckets;
  readonly #options: SecretPaceOptions;

  constructor(store: StateStore, options: SecretPaceOptions) {
    this.#options = options;
    this.#buckets = new SecretBuckets(store);
  }

  /** @throws {SecretsPaced} if none of the current caller may be compared */
  async check(): Promise<void> {
    const subjects = this.#subjects();
    if (subjects !== undefined) await this.#check(subjects);
  }

  /** Whether another secret of the current caller may be compared, as far as memory tells. */
  hasRoomAtOnce(): boolean {
    const subjects = this.#subjects();
    return subjects === undefined || subjects.every((subject) => this.#buckets.hasRoomAtOnce(subject));
  }

  /**
   * Waits until another secret of the current caller may be compared, without taking a place.
   * `waitMs`: at most this long.
   * @throws {SecretsPaced}
   * @throws {KeyInUse} if the attempts before it have not ended in time
   */
  async room(waitMs: number): Promise<void> {
    const subjects = this.#subjects();
    if (subjects !== undefined) await this.#room(subjects, performance.now() + waitMs);
  }

  /** As `room`, and takes the place. */
  async take(waitMs: number): Promise<PacedAttempt> {
    const subjects = this.#subjects();
    if (subjects === undefined) return unpaced;
    const buckets = await this.#room(subjects, performance.now() + waitMs, 1);
    let isOver = false;
    const end = (): boolean => {
      if (isOver) return false;
      isOver = true;
      for (const bucket of buckets) {
        bucket.inFlight -= 1;
        const waiting = [...bucket.waiting];
        bucket.waiting.clear();
        for (const wake of waiting) wake();
      }
      return true;
    };
    return {
      release: () => void end(),
      wrong: async () => {
        if (!isOver) this.#buckets.spend(subjects);
        if (end()) await this.#told();
      },
    };
  }

  /**
   * Counts a wrong secret that took no place: one that is too long to be guessed.
   * @throws {SecretsPaced} instead, if there were too many before
   */
  async wrong(): Promise<void> {
    const subjects = this.#subjects();
    if (subjects === undefined) return;
    await this.#check(subjects);
    this.#buckets.spend(subjects);
    await this.#told();
  }

  async #told(): Promise<void> {
    this.#options.counted?.();
    await this.#buckets.keep();
  }

  /** Returns the buckets once each has a token that no attempt in flight may need, and takes `places`. */
  async #room(subjects: readonly PaceSubject[], deadlineMs: number, places = 0): Promise<readonly Bucket[]> {
    for (;;) {
      const buckets = await this.#check(subjects);
      const full = subjects.findIndex((subject) => !this.#buckets.hasRoom(subject));
      const busy = buckets[full];
      if (busy === undefined) {
        for (const bucket of buckets) bucket.inFlight += places;
        return buckets;
      }
      if (!(await wokenBefore(deadlineMs, busy.waiting))) {
        throw new KeyInUse('other attempts of this client did not end in time; nothing was done, and it is safe to repeat the request');
      }
    }
  }

  /** @throws {SecretsPaced} if a bucket has no token left */
  async #check(subjects: readonly PaceSubject[]): Promise<readonly Bucket[]> {
    const buckets = await this.#buckets.of(subjects);
    const waits = subjects.map((subject) => this.#buckets.waitMs(subject));
    const longest = Math.max(...waits);
    if (longest <= 0) return buckets;
    const scope = waits[0] === longest ? 'client' : 'tenant';
    const caller = callerNow();
    if (caller !== undefined) this.#options.refused?.(scope, caller);
    throw new SecretsPaced(scope, Math.max(1, Math.ceil(longest / 1000)));
  }

  /** The client and the tenant of the current caller; undefined outside of a request. */
  #subjects(): readonly [PaceSubject, PaceSubject] | undefined {
    const caller = callerNow();
    if (caller === undefined) return undefined;
    const limits = this.#options.limits();
    return [
      {
        name: `client ${caller.spkiSha256}`,
        burst: limits.wrongSecretsBurstPerClient,
        intervalMs: 60_000 / limits.wrongSecretsPerMinutePerClient,
      },
      {
        name: `tenant ${caller.tenant}`,
        burst: limits.wrongSecretsBurstPerTenant,
        intervalMs: 60_000 / limits.wrongSecretsPerMinutePerTenant,
      },
    ];
  }
}
