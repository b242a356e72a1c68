import { TokenBucket, type BucketRate } from '../../service/token-bucket.ts';

/** Part of a tenant's burst that is kept for clients within their equal share. */
const keptPart = 0.5;
const sweepMs = 1000;

/**
 * Rate limit of all clients of a tenant together. A client that asks for more than the others does
 * not use up what they need: while several ask, one beyond an equal share of the rate is admitted
 * only as long as half of the burst is left.
 */
export class TenantRate {
  readonly #nowMs: () => number;
  readonly #rate: () => BucketRate;
  readonly #bucket: TokenBucket;
  /** The equal share of each client that asked lately. */
  readonly #shares = new Map<string, TokenBucket>();
  #sweptAtMs: number;

  /** `nowMs`: a monotonic clock, in milliseconds. */
  constructor(rate: () => BucketRate, nowMs: () => number) {
    this.#rate = rate;
    this.#nowMs = nowMs;
    this.#bucket = new TokenBucket(rate, nowMs);
    this.#sweptAtMs = nowMs();
  }

  /**
   * Takes one request of a client. Returns undefined, or the seconds after which it may try again:
   * at least one.
   */
  refuses(client: string): number | undefined {
    this.#sweep();
    const share = this.#shareOf(client);
    const kept = share.waitMs() === 0 || this.#shares.size === 1 ? 0 : keptPart * this.#rate().capacity;
    const waitMs = this.#bucket.waitMs(1 + kept);
    // It may be within its share sooner than half of the burst is there again.
    if (waitMs > 0) return Math.max(1, Math.ceil(Math.min(waitMs, Math.max(share.waitMs(), this.#bucket.waitMs())) / 1000));
    share.take();
    this.#bucket.take();
    return undefined;
  }

  /** Whether it is as good as a new one. */
  isAsNew(): boolean {
    return this.#bucket.isFull();
  }

  #shareOf(client: string): TokenBucket {
    const known = this.#shares.get(client);
    if (known !== undefined) return known;
    const share = new TokenBucket(() => {
      const { perSecond, capacity } = this.#rate();
      const clients = Math.max(1, this.#shares.size);
      return { perSecond: perSecond / clients, capacity: Math.max(1, (keptPart * capacity) / clients) };
    }, this.#nowMs);
    this.#shares.set(client, share);
    return share;
  }

  /** Forgets the clients that have not asked lately. */
  #sweep(): void {
    const now = this.#nowMs();
    if (now - this.#sweptAtMs < sweepMs) return;
    this.#sweptAtMs = now;
    for (const [client, share] of this.#shares) if (share.isFull()) this.#shares.delete(client);
  }
}
