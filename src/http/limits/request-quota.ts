import type { LimitsConfig } from '../../config/limits-config.ts';
import { TokenBucket } from '../../service/token-bucket.ts';
import { Problem } from '../problem.ts';
import { ClientShares } from './client-shares.ts';

type QuotaLimits = Pick<
  LimitsConfig,
  'requestsMax' | 'requestsMaxPerClient' | 'requestsPerSecond' | 'requestsBurst' | 'bodiesMaxBytes' | 'bodiesMaxBytesPerClient'
>;

/** Current use of one client, and its token bucket of requests. */
interface Share {
  requests: number;
  bodyBytes: number;
  readonly bucket: TokenBucket;
}

/** It is not known when a place becomes free; most requests take far less than this. */
const retrySeconds = 1;

/** An admitted request, until its answer has been sent. */
export interface Ticket {
  /** Called before bytes of the body are taken into memory. @throws {Problem} 429, 503 */
  reserve(bytes: number): void;
  release(): void;
}

/**
 * Counts what clients use, each of them and all together, and refuses requests before they cost
 * anything.
 */
export class RequestQuota {
  #limits: QuotaLimits;
  readonly #shares: ClientShares<Share>;
  #requests = 0;
  #bodyBytes = 0;

  constructor(limits: QuotaLimits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    const rate = () => ({ perSecond: this.#limits.requestsPerSecond, capacity: this.#limits.requestsBurst });
    this.#shares = new ClientShares(
      () => ({ requests: 0, bodyBytes: 0, bucket: new TokenBucket(rate, nowMs) }),
      ({ requests, bucket }) => requests === 0 && bucket.isFull(),
    );
  }

  use(limits: QuotaLimits): void {
    this.#limits = limits;
  }

  /**
   * `client` is the fingerprint of its key, whether it is registered or not.
   * @throws {Problem} 503 for all, then 429 for this client
   */
  admit(client: string): Ticket {
    const { requestsMax, requestsMaxPerClient } = this.#limits;
    if (this.#requests >= requestsMax) throw refusal(503, `${requestsMax} requests are in progress, the maximum of this service`);
    const share = this.#shares.of(client);
    if (share.requests >= requestsMaxPerClient) {
      throw refusal(429, `${requestsMaxPerClient} requests of this client are in progress, its maximum`);
    }
    if (!share.bucket.take()) {
      throw refusal(429, `this client may send ${this.#limits.requestsPerSecond} requests per second`, share.bucket.retryAfterSeconds());
    }
    this.#requests += 1;
    share.requests += 1;
    let reserved = 0;
    let isHeld = true;
    return {
      reserve: (bytes) => {
        if (!isHeld) return;
        this.#reserve(share, bytes);
        reserved += bytes;
      },
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#requests -= 1;
        share.requests -= 1;
        this.#bodyBytes -= reserved;
        share.bodyBytes -= reserved;
      },
    };
  }

  #reserve(share: Share, bytes: number): void {
    const { bodiesMaxBytes, bodiesMaxBytesPerClient } = this.#limits;
    if (this.#bodyBytes + bytes > bodiesMaxBytes) throw refusal(503, 'no memory is left for further bodies');
    if (share.bodyBytes + bytes > bodiesMaxBytesPerClient) {
      throw refusal(429, `the bodies of this client's requests may have ${bodiesMaxBytesPerClient} bytes at a time`);
    }
    this.#bodyBytes += bytes;
    share.bodyBytes += bytes;
  }
}

function refusal(status: 429 | 503, detail: string, seconds = retrySeconds): Problem {
  return new Problem(status, detail, { headers: { 'Retry-After': String(seconds) } });
}
