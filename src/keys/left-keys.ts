import type { Logger } from '../telemetry/log.ts';
import { reasonOf } from '../telemetry/reason-of.ts';
import type { KeyId } from '../token/key-id.ts';

/** A key that is to be destroyed and is still on the token. */
export interface LeftKey {
  readonly id: KeyId;
  /** Why the last try failed. */
  readonly reason: string;
}

interface Trying {
  reason: string;
  pauseMs: number;
  timer: NodeJS.Timeout | undefined;
}

const firstPauseMs = 1000;
const longestPauseMs = 10 * 60_000;

/**
 * Retries the destruction of keys that the token did not destroy: soon at first, since it may only
 * have been unavailable, then less and less often, since it may refuse permanently.
 */
export class LeftKeys {
  readonly #keys = new Map<KeyId, Trying>();
  readonly #destroy: (id: KeyId) => Promise<void>;
  readonly #log: Logger | undefined;
  #isStopped = false;

  constructor(destroy: (id: KeyId) => Promise<void>, log: Logger | undefined) {
    this.#destroy = destroy;
    this.#log = log;
  }

  get all(): LeftKey[] {
    return [...this.#keys].map(([id, { reason }]) => ({ id, reason }));
  }

  has(id: KeyId): boolean {
    return this.#keys.has(id);
  }

  add(id: KeyId, error: unknown): void {
    const reason = reasonOf(error);
    const known = this.#keys.get(id);
    if (known?.reason !== reason) {
      this.#log?.error('a key to be destroyed is still on the token; will try again', { key: id, reason });
    }
    const pauseMs = known === undefined ? firstPauseMs : Math.min(2 * known.pauseMs, longestPauseMs);
    clearTimeout(known?.timer);
    const timer = this.#isStopped ? undefined : setTimeout(() => void this.#again(id), pauseMs).unref();
    this.#keys.set(id, { reason, pauseMs, timer });
  }

  stop(): void {
    this.#isStopped = true;
    for (const { timer } of this.#keys.values()) clearTimeout(timer);
  }

  async #again(id: KeyId): Promise<void> {
    try {
      await this.#destroy(id);
      this.#keys.delete(id);
      this.#log?.warn('a key whose destruction had failed is now gone from the token', { key: id });
    } catch (error) {
      this.add(id, error);
    }
  }
}
