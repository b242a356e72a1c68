import { operationPaces, type OperationPaceName } from '../../config/limits-config.ts';
import type { LimitsInForce } from '../../config/limits-in-force.ts';
import { TokenBucket } from '../../service/token-bucket.ts';
import { Problem } from '../problem.ts';
import { ClientShares } from './client-shares.ts';
import type { QuotaSurroundings } from './request-quota.ts';

/**
 * Rate limit of operations that cost a person something, such as messages to a telephone (contract
 * §10): a number of requests per minute for each client, which may come all at once after a rest.
 */
export class OperationPace {
  /** Returns those in force. */
  readonly #limits: () => LimitsInForce;
  readonly #surroundings: QuotaSurroundings;
  readonly #buckets: ReadonlyMap<OperationPaceName, ClientShares<TokenBucket>>;

  constructor(limits: () => LimitsInForce, surroundings: QuotaSurroundings, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#surroundings = surroundings;
    const bucketsOf = (pace: OperationPaceName): ClientShares<TokenBucket> =>
      new ClientShares(
        (client) =>
          new TokenBucket(() => ({ perSecond: this.#perMinute(pace, client) / 60, capacity: this.#perMinute(pace, client) }), nowMs),
        (bucket) => bucket.isFull(),
      );
    this.#buckets = new Map(operationPaces.map((pace) => [pace, bucketsOf(pace)]));
  }

  /**
   * `client` is the fingerprint of its key, whether it is registered or not.
   * @throws {Problem} 429, with the seconds after which one more is taken
   */
  take(pace: OperationPaceName, client: string): void {
    const bucket = this.#buckets.get(pace)?.of(client);
    if (bucket === undefined || bucket.take()) return;
    this.#surroundings.refused?.({ tenant: this.#surroundings.registered(client)?.tenant, scope: 'client', limit: pace });
    throw new Problem(429, `this client may send ${this.#perMinute(pace, client)} requests of this operation per minute`, {
      headers: { 'Retry-After': String(bucket.retryAfterSeconds()) },
    });
  }

  #perMinute(pace: OperationPaceName, client: string): number {
    return this.#limits().ofClient(this.#surroundings.registered(client))[pace];
  }
}
