import { randomUUID } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { KeptBytes } from '../state/repositories/kept-bytes.ts';
import type { StateStore } from '../state/state-store.ts';
import type { KeptAnswerRow } from '../state/tables/kept-answers.ts';
import type { RequestSecrets } from './request-secrets.ts';

const sweepMs = 60_000;
const deletedAtOnce = 500;
const partsDeletedAtOnce = 32;

/** No more answers are kept for a client, or for all of them. Nothing was done. */
export class KeptAnswersFull extends Error {
  readonly whose: 'client' | 'all';
  /** Milliseconds until the first of them ends. */
  readonly fullMs: number;

  constructor(whose: 'client' | 'all', fullMs: number) {
    super('no more answers are kept');
    this.name = 'KeptAnswersFull';
    this.whose = whose;
    this.fullMs = fullMs;
  }
}

/**
 * The claims of this instance on requests that it carries out, and what has ended of all of them.
 */
export class Claims {
  readonly #store: StateStore;
  readonly #claimMs: number;
  /** What is kept in all, over all instances, as of the last sweep. */
  keptBytes = 0;
  /** What this instance counts its kept bytes on. */
  readonly counter = randomUUID();
  readonly #running = new Set<string>();
  readonly #timers: NodeJS.Timeout[];

  private constructor(store: StateStore, claimMs: number) {
    this.#store = store;
    this.#claimMs = claimMs;
    this.#timers = [setInterval(() => void this.#renew(), claimMs / 4).unref(), setInterval(() => void this.#sweep(), sweepMs).unref()];
  }

  static async open(store: StateStore, claimMs: number): Promise<Claims> {
    // Nobody else has the store, so who had claims died with an earlier run.
    if (!store.isShared) await store.run('endAllClaims');
    const claims = new Claims(store, claimMs);
    await store.run('gatherKeptBytes', claims.counter);
    claims.keptBytes = await store.run('allKeptBytes');
    return claims;
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  /**
   * Returns the row that is there, where the request has been claimed before.
   * @throws {KeptAnswersFull} if it has not, and what is kept already is as much as `room`
   */
  async claim({ id, fingerprint, client }: RequestSecrets, claim: string, room: KeptBytes): Promise<'claimed' | Selectable<KeptAnswerRow>> {
    for (let isSwept = false; ; isSwept = true) {
      const now = this.#store.now();
      const { counter } = this;
      const found = await this.#store.run('claimAnswer', {
        id,
        fingerprint,
        claim,
        until: now + this.#claimMs,
        now,
        client,
        counter,
        room,
      });
      if (found === 'claimed' || !('full' in found)) return found;
      const fullMs = found.until - this.#store.now();
      // What has ended makes room, if it was not deleted yet.
      if (isSwept || fullMs > 0) throw new KeptAnswersFull(found.full, Math.max(0, fullMs));
      await this.#sweep();
    }
  }

  /** False where the claim had ended before. */
  async release(id: string, claim: string): Promise<boolean> {
    return this.#store.run('releaseClaim', { id, claim });
  }

  async whileRenewed<T>(claim: string, work: () => Promise<T>): Promise<T> {
    this.#running.add(claim);
    try {
      return await work();
    } finally {
      this.#running.delete(claim);
    }
  }

  async #renew(): Promise<void> {
    if (this.#running.size === 0) return;
    // A store that is away: the claims end, and nothing can be committed with them.
    await this.#store.run('renewClaims', { claims: [...this.#running], until: this.#store.now() + this.#claimMs }).catch(() => undefined);
  }

  async #sweep(): Promise<void> {
    const { counter } = this;
    try {
      while ((await this.#store.run('deleteEndedAnswers', { now: this.#store.now(), limit: deletedAtOnce, counter })) === deletedAtOnce);
      while ((await this.#store.run('deleteLooseParts', { limit: partsDeletedAtOnce })) === partsDeletedAtOnce);
      this.keptBytes = await this.#store.run('allKeptBytes');
    } catch {
      // Next time will do: what has ended is never answered.
    }
  }
}
