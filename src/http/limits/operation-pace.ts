import type { LimitsConfig, OperationPaceName } from '../../config/limits-config.ts';
import { TokenBucket } from '../../service/token-bucket.ts';
import { Problem } from '../problem.ts';
import { ClientShares } from './client-shares.ts';

type PaceLimits = Pick<LimitsConfig, OperationPaceName>;

/**
 * Rate limit of operations that cost a person something, such as messages to a telephone (contract
 * §10): a number of requests per minute for each client, which may come all at once after a rest.
 */
export class OperationPace {
  #limits: PaceLimits;
  readonly #buckets: Readonly<Record<OperationPaceName, ClientShares<TokenBucket>>>;

  constructor(limits: PaceLimits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    const bucketsOf = (pace: OperationPaceName): ClientShares<TokenBucket> => {
      const rate = () => ({ perSecond: this.#limits[pace] / 60, capacity: this.#limits[pace] });
      return new ClientShares(
        () => new TokenBucket(rate, nowMs),
        (bucket) => bucket.isFull(),
      );
    };
    this.#buckets = { otpsPerMinute: bucketsOf('otpsPerMinute'), messagesPerMinute: bucketsOf('messagesPerMinute') };
  }

  use(limits: PaceLimits): void {
    this.#limits = limits;
  }

  /**
   * `client` is the fingerprint of its key, whether it is registered or not.
   * @throws {Problem} 429, with the seconds after which one more is taken
   */
  take(pace: OperationPaceName, client: string): void {
    const bucket = this.#buckets[pace].of(client);
    if (bucket.take()) return;
    throw new Problem(429, `this client may send ${this.#limits[pace]} requests of this operation per minute`, {
      headers: { 'Retry-After': String(bucket.retryAfterSeconds()) },
    });
  }
}
