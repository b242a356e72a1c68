import { maxOfTenant, type LimitsConfig } from '../../config/limits-config.ts';
import { TokenBucket } from '../../service/token-bucket.ts';
import { Problem } from '../problem.ts';
import { ClientShares } from './client-shares.ts';

type QuotaLimits = Pick<
  LimitsConfig,
  'requestsMax' | 'requestsMaxPerClient' | 'requestsPerSecond' | 'requestsBurst' | 'bodiesMaxBytes' | 'bodiesMaxBytesPerClient'
>;

/** Current use of a client, or of all clients of a tenant. */
interface Use {
  requests: number;
  bodyBytes: number;
}

/** Current use of one client, and its token bucket of requests. */
interface Share extends Use {
  readonly bucket: TokenBucket;
}

/** It is not known when a place becomes free; most requests take far less than this. */
const retrySeconds = 1;

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
 * before they cost anything. Of several tenants, each may use half, and always what one client may.
 */
export class RequestQuota {
  #limits: QuotaLimits;
  #tenants: number;
  readonly #ofTenants = new Map<string, Use>();
  readonly #shares: ClientShares<Share>;
  #requests = 0;
  #bodyBytes = 0;

  /** @param tenants how many there are */
  constructor(limits: QuotaLimits, tenants: number, nowMs: () => number = () => performance.now()) {
    this.#limits = limits;
    this.#tenants = tenants;
    const rate = () => ({ perSecond: this.#limits.requestsPerSecond, capacity: this.#limits.requestsBurst });
    this.#shares = new ClientShares(
      () => ({ requests: 0, bodyBytes: 0, bucket: new TokenBucket(rate, nowMs) }),
      ({ requests, bucket }) => requests === 0 && bucket.isFull(),
    );
  }

  use(limits: QuotaLimits, tenants: number): void {
    this.#limits = limits;
    this.#tenants = tenants;
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
    let ofTenant: { readonly tenant: string; readonly use: Use } | undefined;
    return {
      belongsTo: (tenant) => {
        if (isHeld && ofTenant === undefined) ofTenant = { tenant, use: this.#admitOfTenant(tenant) };
      },
      reserve: (bytes) => {
        if (!isHeld) return;
        this.#reserve(share, ofTenant?.use, bytes);
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
        const { tenant, use } = ofTenant;
        use.requests -= 1;
        use.bodyBytes -= reserved;
        if (use.requests === 0) this.#ofTenants.delete(tenant);
      },
    };
  }

  #admitOfTenant(tenant: string): Use {
    const { requestsMax, requestsMaxPerClient } = this.#limits;
    const use = this.#ofTenants.get(tenant) ?? { requests: 0, bodyBytes: 0 };
    const most = maxOfTenant(this.#tenants, { all: requestsMax, client: requestsMaxPerClient });
    if (use.requests >= most) throw refusal(429, `${most} requests of this client's tenant are in progress, its maximum`);
    use.requests += 1;
    this.#ofTenants.set(tenant, use);
    return use;
  }

  #reserve(share: Share, ofTenant: Use | undefined, bytes: number): void {
    const { bodiesMaxBytes, bodiesMaxBytesPerClient } = this.#limits;
    const ofTenantMax = maxOfTenant(this.#tenants, { all: bodiesMaxBytes, client: bodiesMaxBytesPerClient });
    if (this.#bodyBytes + bytes > bodiesMaxBytes) throw refusal(503, 'no memory is left for further bodies');
    if (share.bodyBytes + bytes > bodiesMaxBytesPerClient) {
      throw refusal(429, `the bodies of this client's requests may have ${bodiesMaxBytesPerClient} bytes at a time`);
    }
    if (ofTenant !== undefined && ofTenant.bodyBytes + bytes > ofTenantMax) {
      throw refusal(429, `the bodies of the requests of this client's tenant may have ${ofTenantMax} bytes at a time`);
    }
    this.#bodyBytes += bytes;
    share.bodyBytes += bytes;
    if (ofTenant !== undefined) ofTenant.bodyBytes += bytes;
  }
}

function refusal(status: 429 | 503, detail: string, seconds = retrySeconds): Problem {
  return new Problem(status, detail, { headers: { 'Retry-After': String(seconds) } });
}
