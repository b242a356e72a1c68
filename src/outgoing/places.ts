import { FetchFailed } from './exchange.ts';

interface Waiting {
  readonly tenant: string | undefined;
  readonly enter: () => void;
}

/**
 * Limits requests in progress. A tenant holds at most half of the places; of the waiting tenants,
 * the one that holds the fewest is next. Requests without a tenant count only towards the total.
 */
export class Places {
  readonly #max: number;
  readonly #wasSent: boolean;
  readonly #ofTenantMax: number;
  readonly #held = new Map<string | undefined, number>();
  readonly #waiting: Waiting[] = [];
  #open = 0;

  /** `wasSent`: whether requests wait for these places after they were sent. */
  constructor(max: number, { wasSent = false } = {}) {
    this.#max = max;
    this.#wasSent = wasSent;
    this.#ofTenantMax = Math.max(1, Math.floor(max / 2));
  }

  /**
   * Takes a place and returns the function that releases it; only its first call has an effect.
   * @throws {FetchFailed} if none becomes free before the signal
   */
  async take(tenant: string | undefined, signal: AbortSignal): Promise<() => void> {
    if (signal.aborted) throw this.#tooMany();
    if (this.#hasPlace(tenant)) this.#enter(tenant);
    else await this.#turn(tenant, signal);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#open -= 1;
      const left = this.#heldBy(tenant) - 1;
      if (left === 0) this.#held.delete(tenant);
      else this.#held.set(tenant, left);
      this.#admit();
    };
  }

  async #turn(tenant: string | undefined, signal: AbortSignal): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { tenant, enter: resolve };
    const onAbort = (): void => {
      const index = this.#waiting.indexOf(waiting);
      // A request that is no longer in the list already has a place.
      if (index === -1) return;
      this.#waiting.splice(index, 1);
      reject(this.#tooMany());
    };
    signal.addEventListener('abort', onAbort, { once: true });
    this.#waiting.push(waiting);
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  #admit(): void {
    const [next] = this.#waiting
      .filter(({ tenant }) => this.#hasPlace(tenant))
      .toSorted((left, right) => this.#heldBy(left.tenant) - this.#heldBy(right.tenant));
    if (next === undefined) return;
    this.#waiting.splice(this.#waiting.indexOf(next), 1);
    this.#enter(next.tenant);
    next.enter();
  }

  #enter(tenant: string | undefined): void {
    this.#open += 1;
    this.#held.set(tenant, this.#heldBy(tenant) + 1);
  }

  #hasPlace(tenant: string | undefined): boolean {
    return this.#open < this.#max && (tenant === undefined || this.#heldBy(tenant) < this.#ofTenantMax);
  }

  #heldBy(tenant: string | undefined): number {
    return this.#held.get(tenant) ?? 0;
  }

  #tooMany(): FetchFailed {
    return new FetchFailed('too many requests to other servers at once', { isLate: true, wasSent: this.#wasSent });
  }
}
