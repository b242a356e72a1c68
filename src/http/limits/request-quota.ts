import type { ClientLimits, LimitsInForce, NamedClient } from '../../config/limits-in-force.ts';
import { TokenBucket, type BucketRate } from '../../service/token-bucket.ts';
import { Problem } from '../problem.ts';
import { ClientShares } from './client-shares.ts';
import { TenantRate } from './tenant-rate.ts';

/** Current use of a client, or of all clients of a tenant. */
interface Use {
  requests: number;
  bodyBytes: number;
}

/** Current use of one client, and its token bucket of requests. */
interface Share extends Use {
  readonly bucket: TokenBucket;
}

/** Current use of one tenant; its rate is counted only where it has a limit. */
interface TenantShare extends Use {
  rate: TenantRate | undefined;
}

/** It is not known when a place becomes free; most requests take far less than this. */
const retrySeconds = 1;

/** A limit at which a request was refused with 429. */
export interface ReachedLimit {
  /** Undefined: the client is not registered. */
  readonly tenant: string | undefined;
  readonly scope: 'client' | 'tenant';
  readonly limit: 'requestsPerSecond' | 'requestsMax' | 'bodiesMaxBytes' | 'keptAnswersMaxBytes' | 'otpsPerMinute' | 'messagesPerMinute';
}

/** Knows clients by the fingerprints of their keys, and is told of refusals. */
export interface QuotaSurroundings {
  /** Returns the client, if it is registered, as far as is known now. */
  registered(client: string): NamedClient | undefined;
  refused?(reached: ReachedLimit): void;
}

/** An admitted request, until its answer has been sent. */
export interface Ticket {
  /** Called as soon as the client's tenant is known. @throws {Problem} 429 */
  belongsTo(tenant: string): void;
  /** Called before bytes of the body are taken into memory. @throws {Problem} 429, 503 */
  reserve(bytes: number): void;
  release(): void;
}

/**
 * Counts what clients use, each of them, those of a tenant, and all together, and refuses requests
 * before they cost anything.
 */
export class RequestQuota {
  /** Returns those in force. */
  readonly #limits: () => LimitsInForce;
  readonly #surroundings: QuotaSurroundings;
  readonly #ofTenants: ClientShares<TenantShare>;
  readonly #shares: ClientShares<Share>;
  readonly #nowMs: () => number;
  #requests = 0;
  #bodyBytes = 0;

  constructor(limits: () => LimitsInForce, surroundings: QuotaSurroundings, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#surroundings = surroundings;
    this.#shares = new ClientShares(
      (client) => {
        const rate = () => {
          const { requestsPerSecond: perSecond, requestsBurst: capacity } = this.#limitsOf(client);
          return { perSecond, capacity };
        };
        return { requests: 0, bodyBytes: 0, bucket: new TokenBucket(rate, nowMs) };
      },
      ({ requests, bucket }) => requests === 0 && bucket.isFull(),
    );
    this.#nowMs = nowMs;
    this.#ofTenants = new ClientShares<TenantShare>(
      () => ({ requests: 0, bodyBytes: 0, rate: undefined }),
      ({ requests, rate }) => requests === 0 && rate?.isAsNew() !== false,
    );
  }

  /**
   * `client` is the fingerprint of its key, whether it is registered or not.
   * @throws {Problem} 503 for all, then 429 for this client
   */
  admit(client: string): Ticket {
    const { requestsMax: ofAllMax } = this.#limits().all;
    if (this.#requests >= ofAllMax) throw refusal(503, `${ofAllMax} requests are in progress, the maximum of this service`);
    const { requestsMax, requestsPerSecond } = this.#limitsOf(client);
    const share = this.#shares.of(client);
    if (share.requests >= requestsMax) {
      this.#refused(client, 'client', 'requestsMax');
      throw refusal(429, `${requestsMax} requests of this client are in progress, its maximum`);
    }
    if (!share.bucket.take()) {
      this.#refused(client, 'client', 'requestsPerSecond');
      throw refusal(429, `this client may send ${requestsPerSecond} requests per second`, share.bucket.retryAfterSeconds());
    }
    this.#requests += 1;
    share.requests += 1;
    let reserved = 0;
    let isHeld = true;
    let ofTenant: { readonly tenant: string; readonly use: Use } | undefined;
    return {
      belongsTo: (tenant) => {
        if (isHeld && ofTenant === undefined) ofTenant = { tenant, use: this.#admitOfTenant(client, tenant) };
      },
      reserve: (bytes) => {
        if (!isHeld) return;
        this.#reserve(client, share, ofTenant, bytes);
        reserved += bytes;
      },
      release: () => {
        if (!isHeld) return;
        isHeld = false;
        this.#requests -= 1;
        share.requests -= 1;
        this.#bodyBytes -= reserved;
        share.bodyBytes -= reserved;
        if (ofTenant === undefined) return;
        const { use } = ofTenant;
        use.requests -= 1;
        use.bodyBytes -= reserved;
      },
    };
  }

  #limitsOf(client: string): ClientLimits {
    return this.#limits().ofClient(this.#surroundings.registered(client));
  }

  #refused(client: string, scope: ReachedLimit['scope'], limit: ReachedLimit['limit']): void {
    this.#surroundings.refused?.({ tenant: this.#surroundings.registered(client)?.tenant, scope, limit });
  }

  #admitOfTenant(client: string, tenant: string): Use {
    const { requestsMax, rate } = this.#limits().ofTenant(tenant);
    const share = this.#ofTenants.of(tenant);
    if (share.requests >= requestsMax) {
      this.#refused(client, 'tenant', 'requestsMax');
      throw refusal(429, `${requestsMax} requests of this client's tenant are in progress, its maximum`);
    }
    if (rate === undefined) share.rate = undefined;
    else {
      share.rate ??= new TenantRate(() => this.#rateOf(tenant), this.#nowMs);
      const seconds = share.rate.refuses(client);
      if (seconds !== undefined) {
        this.#refused(client, 'tenant', 'requestsPerSecond');
        throw refusal(429, `all clients of this client's tenant together may send ${rate.requestsPerSecond} requests per second`, seconds);
      }
    }
    share.requests += 1;
    return share;
  }

  /** Of a tenant without a limit, a rate that nothing is counted at. */
  #rateOf(tenant: string): BucketRate {
    const { requestsPerSecond: perSecond = 1, requestsBurst: capacity = 1 } = this.#limits().ofTenant(tenant).rate ?? {};
    return { perSecond, capacity };
  }

  #reserve(client: string, share: Share, ofTenant: { readonly tenant: string; readonly use: Use } | undefined, bytes: number): void {
    if (this.#bodyBytes + bytes > this.#limits().all.bodiesMaxBytes) throw refusal(503, 'no memory is left for further bodies');
    const { bodiesMaxBytes } = this.#limitsOf(client);
    if (share.bodyBytes + bytes > bodiesMaxBytes) {
      this.#refused(client, 'client', 'bodiesMaxBytes');
      throw refusal(429, `the bodies of this client's requests may have ${bodiesMaxBytes} bytes at a time`);
    }
    if (ofTenant !== undefined) {
      const { tenant, use } = ofTenant;
      const { bodiesMaxBytes: ofTenantMax } = this.#limits().ofTenant(tenant);
      if (use.bodyBytes + bytes > ofTenantMax) {
        this.#refused(client, 'tenant', 'bodiesMaxBytes');
        throw refusal(429, `the bodies of the requests of this client's tenant may have ${ofTenantMax} bytes at a time`);
      }
      use.bodyBytes += bytes;
    }
    this.#bodyBytes += bytes;
    share.bodyBytes += bytes;
  }
}

function refusal(status: 429 | 503, detail: string, seconds = retrySeconds): Problem {
  return new Problem(status, detail, { headers: { 'Retry-After': String(seconds) } });
}
