import type { RepositoryResult } from '../state/repositories/all.ts';
import type { StateStore } from '../state/state-store.ts';
import type { RequestSecrets } from './request-secrets.ts';

const sweepMs = 60_000;
const deletedAtOnce = 500;
const partsDeletedAtOnce = 32;

/** The claims of this instance on requests that it carries out, and what has ended of all of them. */
export class Claims {
  readonly #store: StateStore;
  readonly #claimMs: number;
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
    return new Claims(store, claimMs);
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
  }

  async claim({ id, fingerprint }: RequestSecrets, claim: string): Promise<RepositoryResult<'claimAnswer'>> {
    const now = this.#store.now();
    return this.#store.run('claimAnswer', { id, fingerprint, claim, until: now + this.#claimMs, now });
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
    try {
      while ((await this.#store.run('deleteEndedAnswers', { now: this.#store.now(), limit: deletedAtOnce })) === deletedAtOnce);
      while ((await this.#store.run('deleteLooseParts', { limit: partsDeletedAtOnce })) === partsDeletedAtOnce);
    } catch {
      // Next time will do: what has ended is never answered.
    }
  }
}
