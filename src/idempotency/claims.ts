import { randomUUID } from 'node:crypto';
import type { Selectable } from 'kysely';
import type { KeptBytes } from '../state/repositories/kept-bytes.ts';
import type { StateStore } from '../state/state-store.ts';
import type { KeptAnswerRow } from '../state/tables/kept-answers.ts';
import type { RequestSecrets } from './request-secrets.ts';

const sweepMs = 60_000;
const deletedAtOnce = 500;
const partsDeletedAtOnce = 32;

/**
 * Thrown if the limit of kept answers is reached, of a client, a tenant or of all. Nothing was
 * done.
 */
export class KeptAnswersFull extends Error {
  readonly whose: keyof KeptBytes;
  /** Milliseconds until the first of them expires. */
  readonly fullMs: number;

  constructor(whose: keyof KeptBytes, fullMs: number) {
    super('the limit of kept answers is reached');
    this.name = 'KeptAnswersFull';
    this.whose = whose;
    this.fullMs = fullMs;
  }
}

/**
 * Manages the claims of this instance on requests that it runs, and deletes expired rows of all
 * instances.
 */
export class Claims {
  readonly #store: StateStore;
  readonly #claimMs: number;
  /** Bytes kept by all instances, as of the last sweep. */
  keptBytes = 0;
  /** Counter of this instance for kept bytes. */
  readonly counter = randomUUID();
  readonly #running = new Set<string>();
  readonly #timers: NodeJS.Timeout[];

  private constructor(store: StateStore, claimMs: number) {
    this.#store = store;
    this.#claimMs = claimMs;
    this.#timers = [setInterval(() => void this.#renew(), claimMs / 4).unref(), setInterval(() => void this.#sweep(), sweepMs).unref()];
  }

  static async open(store: StateStore, claimMs: number): Promise<Claims> {
    // This is the only process, so all existing claims are left from an earlier run.
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
   * Claims a request, or returns the existing row if the request was claimed before, also that of
   * one of `formerIds`. `other key`: the key was replaced, and the request must be claimed under the
   * present one.
   * @throws {KeptAnswersFull} if it was not claimed, and the bytes already kept reach `room`
   */
  async claim(
    { id, fingerprint, client, key }: RequestSecrets,
    formerIds: readonly string[],
    claim: string,
    room: KeptBytes,
  ): Promise<'claimed' | 'other key' | Selectable<KeptAnswerRow>> {
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
        sealedBy: key.id,
        formerIds,
      });
      if (typeof found === 'string' || !('full' in found)) return found;
      const fullMs = found.until - this.#store.now();
      // Expired rows make room once they are deleted.
      if (isSwept || fullMs > 0) throw new KeptAnswersFull(found.full, Math.max(0, fullMs));
      await this.#sweep();
    }
  }

  /** Releases a claim. Returns false if it had expired. */
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
    // If the store is unavailable, the claims expire, and nothing can be committed with them.
    await this.#store.run('renewClaims', { claims: [...this.#running], until: this.#store.now() + this.#claimMs }).catch(() => undefined);
  }

  async #sweep(): Promise<void> {
    const { counter } = this;
    try {
      while ((await this.#store.run('deleteEndedAnswers', { now: this.#store.now(), limit: deletedAtOnce, counter })) === deletedAtOnce);
      while ((await this.#store.run('deleteLooseParts', { limit: partsDeletedAtOnce })) === partsDeletedAtOnce);
      this.keptBytes = await this.#store.run('allKeptBytes');
    } catch {
      // The next sweep tries again; expired answers are never returned.
    }
  }
}
