import type { LimitsConfig } from '../../config/limits-config.ts';
import { Problem } from '../problem.ts';

type QuotaLimits = Pick<
  LimitsConfig,
  'requestsMax' | 'requestsMaxPerClient' | 'requestsPerSecond' | 'requestsBurst' | 'bodiesMaxBytes' | 'bodiesMaxBytesPerClient'
>;

/** What one client has taken. `tokens` is as of `atMs`: each request costs one, and they grow again with time. */
interface Share {
  requests: number;
  bodyBytes: number;
  tokens: number;
  atMs: number;
}

/** When a place becomes free is not known; most requests take far less than this. */
const retrySeconds = 1;
const sweepAtClients = 1024;

/** A request that was let in, until its answer has left. */
export interface Ticket {
  /** Before bytes of the body are taken into memory. @throws {Problem} 429, 503 */
  reserve(bytes: number): void;
  release(): void;
}

/** Counts what clients take of the service, each alone and all together, and says no before it costs anything. */
export class RequestQuota {
  #limits: QuotaLimits;
  readonly #nowMs: () => number;
  readonly #shares = new Map<string, Share>();
  #requests = 0;
  #bodyBytes = 0;
  #sweepAt = sweepAtClients;

  constructor(limits: QuotaLimits, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#nowMs = nowMs;
  }

  use(limits: QuotaLimits): void {
    this.#limits = limits;
  }

  /** `client` is the fingerprint of its key, whether it is registered or not. @throws {Problem} 503 for all, then 429 for this client */
  admit(client: string): Ticket {
    const { requestsMax, requestsMaxPerClient } = this.#limits;
    if (this.#requests >= requestsMax) throw refusal(503, `the service works on ${requestsMax} requests, and takes no more at a time`);
    const share = this.#shareOf(client);
    if (share.requests >= requestsMaxPerClient) {
      throw refusal(429, `${requestsMaxPerClient} requests of this client are worked on, and no more are taken at a time`);
    }
    this.#takeToken(share);
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

  #shareOf(client: string): Share {
    const known = this.#shares.get(client);
    if (known !== undefined) return known;
    if (this.#shares.size >= this.#sweepAt) this.#sweep();
    const share = { requests: 0, bodyBytes: 0, tokens: this.#limits.requestsBurst, atMs: this.#nowMs() };
    this.#shares.set(client, share);
    return share;
  }

  #takeToken(share: Share): void {
    this.#refill(share);
    if (share.tokens < 1) {
      const { requestsPerSecond } = this.#limits;
      const seconds = Math.max(1, Math.ceil((1 - share.tokens) / requestsPerSecond));
      throw refusal(429, `this client may send ${requestsPerSecond} requests per second`, seconds);
    }
    share.tokens -= 1;
  }

  #refill(share: Share): void {
    const now = this.#nowMs();
    const { requestsPerSecond, requestsBurst } = this.#limits;
    share.tokens = Math.min(requestsBurst, share.tokens + ((now - share.atMs) / 1000) * requestsPerSecond);
    share.atMs = now;
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

  /** A client that has nothing here and its whole burst is as good as a new one. */
  #sweep(): void {
    for (const [client, share] of this.#shares) {
      this.#refill(share);
      if (share.requests === 0 && share.tokens >= this.#limits.requestsBurst) this.#shares.delete(client);
    }
    this.#sweepAt = Math.max(sweepAtClients, 2 * this.#shares.size);
  }
}

function refusal(status: 429 | 503, detail: string, seconds = retrySeconds): Problem {
  return new Problem(status, detail, { headers: { 'Retry-After': String(seconds) } });
}
