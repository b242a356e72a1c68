import { callerNow } from '../clients/current-caller.ts';
import type { Caller } from '../clients/caller.ts';
import type { LimitsConfig } from '../config/limits-config.ts';
import { resultCodes } from '../result-codes.ts';
import type { StateStore } from '../state/state-store.ts';
import { KeyInUse, wokenBefore } from './attempt-slots.ts';
import { SecretBuckets, type PaceSubject } from './secret-buckets.ts';

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

/** An attempt, as the paces see it, until it is known whether its secret was right. */
export interface PacedAttempt {
  /** @throws {SecretsPaced} if no secret may be compared */
  check(): Promise<void>;
  /**
   * Takes a place, right before the secret is compared; waits for one at most `waitMs`.
   * @throws {SecretsPaced}
   * @throws {KeyInUse} if the attempts before it have not ended in time
   */
  take(waitMs: number): Promise<void>;
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
export const unpaced: PacedAttempt = {
  check: async () => Promise.resolve(),
  take: async () => Promise.resolve(),
  release: () => undefined,
  wrong: async () => Promise.resolve(),
};

/**
 * Limits the rate of wrong secrets by client and by tenant, over all keys (NIST SP 800-63B §5.2.2),
 * beside the rule that locks a single key. Each has a token bucket, which only wrong secrets empty;
 * it is kept in the state store, so that neither a restart nor another instance begins anew.
 *
 * An attempt takes a place before its secret is compared: of a client or a tenant, no more secrets
 * are compared at a time than may still be wrong. The places are those of each instance. Guesses
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

  /**
   * Whether a secret that was right before may be compared at once, as far as memory tells. It takes
   * no place, but is not compared before the attempts that came earlier.
   */
  hasRoomAtOnce(): boolean {
    const subjects = this.#subjects();
    return subjects === undefined || subjects.every((subject) => this.#buckets.isKnown(subject) && this.#buckets.hasRoomBehind(subject));
  }

  /** Waits until it may be compared, at most `waitMs`. @throws as `PacedAttempt.take` */
  async room(waitMs: number): Promise<void> {
    const subjects = this.#subjects();
    if (subjects === undefined) return;
    await this.#room(subjects, performance.now() + waitMs, (subject) => this.#buckets.hasRoomBehind(subject));
  }

  /** Begins an attempt of the current caller. */
  enter(): PacedAttempt {
    const subjects = this.#subjects();
    if (subjects === undefined) return unpaced;
    const buckets = subjects.map((subject) => this.#buckets.at(subject));
    let place: 'coming' | 'inFlight' | undefined;
    const move = (to: typeof place): void => {
      for (const bucket of buckets) {
        if (place !== undefined) bucket[place] -= 1;
        if (to !== undefined) bucket[to] += 1;
      }
      place = to;
    };
    const end = (): void => {
      if (place === undefined) return;
      move(undefined);
      for (const { waiting } of buckets) {
        const all = [...waiting];
        waiting.clear();
        for (const wake of all) wake();
      }
    };
    move('coming');
    return {
      check: async () => this.#check(subjects),
      take: async (waitMs) => {
        await this.#room(
          subjects,
          performance.now() + waitMs,
          (subject) => this.#buckets.hasRoom(subject),
          () => {
            move('inFlight');
          },
        );
      },
      release: end,
      wrong: async () => {
        if (place === undefined) return;
        this.#buckets.spend(subjects);
        end();
        await this.#told();
      },
    };
  }

  async #told(): Promise<void> {
    this.#options.counted?.();
    await this.#buckets.keep();
  }

  /** Waits until every bucket has room, and calls `then` in the same turn. */
  async #room(
    subjects: readonly PaceSubject[],
    deadlineMs: number,
    hasRoom: (subject: PaceSubject) => boolean,
    then: () => void = () => undefined,
  ): Promise<void> {
    for (;;) {
      await this.#check(subjects);
      const busy = subjects.find((subject) => !hasRoom(subject));
      if (busy === undefined) {
        then();
        return;
      }
      if (!(await wokenBefore(deadlineMs, this.#buckets.at(busy).waiting))) {
        throw new KeyInUse('other attempts of this client did not end in time; nothing was done, and it is safe to repeat the request');
      }
    }
  }

  /** @throws {SecretsPaced} if a bucket has no token left */
  async #check(subjects: readonly PaceSubject[]): Promise<void> {
    await this.#buckets.read(subjects);
    const waits = subjects.map((subject) => this.#buckets.waitMs(subject));
    const longest = Math.max(...waits);
    if (longest <= 0) return;
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
