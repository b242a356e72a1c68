import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { currentRequest } from '../telemetry/current-request.ts';
import { exchange, FetchFailed, type OutgoingAnswer, type OutgoingRequest } from './exchange.ts';
import { NameLookups, type Resolve } from './name-lookups.ts';
import { Places } from './places.ts';
import { isPublicAddress, Networks } from './special-addresses.ts';
import { HostList, httpUrl, portOf, UrlRefused } from './url-rules.ts';

export { FetchFailed };

export interface OutgoingSettings {
  /** Hosts that callers may name, in URLs and in certificates for which nobody vouches. */
  readonly clientHosts: readonly string[];
  /**
   * Networks in CIDR notation, optionally with a port, that may be contacted although they are not
   * public.
   */
  readonly privateNetworks: readonly string[];
  readonly timeoutSeconds: number;
  readonly connectionsMax: number;
  /** Authorities trusted for https, PEM. Default: those that Node trusts. */
  readonly certificateAuthority?: string | undefined;
  /**
   * Whether requests carry on the trace of the caller's request that they are made for. Default: yes.
   */
  readonly traceContext?: boolean | undefined;
  /** Called when a request has ended: `failure` is undefined after an accepted answer. */
  readonly ended?: ((asked: OutgoingRequest, failure: Error | undefined) => void) | undefined;
  /** Called for an accepted answer whose content is of no use. */
  readonly unusable?: ((asked: OutgoingRequest, why: Error) => void) | undefined;
}

const systemAddresses: Resolve = async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address);

const everyNetwork = ['0.0.0.0/0', '::/0'];

/** Maximum number of large answers read at once: they are held in memory. */
const bigAtOnceMax = 4;

/** State that all tenants share. */
interface Shared {
  readonly hosts: HostList;
  readonly networks: Networks;
  readonly lookups: NameLookups;
  readonly exchanges: Places;
  readonly bigAnswers: Places;
}

/**
 * Sends requests to servers that certificates, callers or the configuration name (contract §5). The
 * name is resolved once, all its addresses are checked, and the connection goes to one of them, so
 * DNS rebinding has no effect. Redirects are not followed, compression is not accepted, and time
 * and size are limited for the exchange as a whole.
 */
export class OutgoingHttp {
  readonly #settings: OutgoingSettings;
  readonly #resolve: Resolve;
  readonly #shared: Shared;
  readonly #tenant: string | undefined;

  /** @throws {RangeError} for an invalid network */
  constructor(
    settings: OutgoingSettings,
    resolve: Resolve = systemAddresses,
    forTenant?: { readonly tenant: string; readonly shared: Shared },
  ) {
    this.#resolve = resolve;
    this.#settings = settings;
    this.#shared = forTenant?.shared ?? {
      hosts: new HostList(settings.clientHosts),
      networks: new Networks(settings.privateNetworks),
      lookups: new NameLookups(resolve),
      exchanges: new Places(settings.connectionsMax),
      bigAnswers: new Places(bigAtOnceMax, { wasSent: true }),
    };
    this.#tenant = forTenant?.tenant;
  }

  /** Returns a client for a server that the operator configured, at any address. */
  static toConfiguredServer(settings: Pick<OutgoingSettings, 'timeoutSeconds' | 'connectionsMax' | 'certificateAuthority'>): OutgoingHttp {
    return new OutgoingHttp({ ...settings, clientHosts: [], privateNetworks: everyNetwork });
  }

  /**
   * Returns a client for one tenant, which has its share of the connections and leaves the others
   * theirs.
   */
  ofTenant(tenant: string): OutgoingHttp {
    return new OutgoingHttp(this.#settings, this.#resolve, { tenant, shared: this.#shared });
  }

  /** Parses a URL that a caller gave. @throws {UrlRefused} */
  clientUrl(text: string): URL {
    const url = httpUrl(text);
    if (!this.isClientHost(url)) throw new UrlRefused('host', `callers may not name the host ${url.host}`);
    return url;
  }

  /** Whether callers may name the host of a URL. */
  isClientHost(url: URL): boolean {
    return this.#shared.hosts.has(url);
  }

  /**
   * Returns what `read` makes of the body of an accepted answer. What it throws is reported to the
   * operator: messages for callers may not contain it.
   * @throws {FetchFailed} as `fetch`; what `read` throws
   */
  async fetchAs<T>(asked: OutgoingRequest, read: (body: Uint8Array) => T | Promise<T>): Promise<T> {
    const { body } = await this.fetch(asked);
    try {
      return await read(body);
    } catch (error) {
      if (error instanceof Error) this.#settings.unusable?.(asked, error);
      throw error;
    }
  }

  /**
   * Returns an accepted answer. Settles within its time limit, whatever the server does.
   * @throws {FetchFailed} for any other result
   */
  async fetch(asked: OutgoingRequest): Promise<OutgoingAnswer> {
    const { ended } = this.#settings;
    try {
      const answer = await this.#answerOf(asked);
      ended?.(asked, undefined);
      return answer;
    } catch (error) {
      ended?.(asked, error instanceof Error ? error : new Error('not an Error', { cause: error }));
      throw error;
    }
  }

  async #answerOf(asked: OutgoingRequest): Promise<OutgoingAnswer> {
    const { timeoutSeconds, certificateAuthority, traceContext = true } = this.#settings;
    const traceHeaders = traceContext ? currentRequest()?.traceHeaders : undefined;
    const own = AbortSignal.timeout(timeoutSeconds * 1000);
    const signal = asked.signal === undefined ? own : AbortSignal.any([own, asked.signal]);
    const held: (() => void)[] = [];
    let isOver = false;
    const take = async (places: Places): Promise<void> => {
      const giveBack = await places.take(this.#tenant, signal);
      if (isOver) giveBack();
      else held.push(giveBack);
    };
    try {
      await take(this.#shared.exchanges);
      const addresses = await this.#addresses(asked.url, signal);
      const beforeMore = async (): Promise<void> => take(this.#shared.bigAnswers);
      return await within(exchange(asked, { addresses, signal, certificateAuthority, traceHeaders, beforeMore }), signal);
    } catch (error) {
      if (error instanceof FetchFailed) throw error;
      if (asked.signal?.aborted === true) throw new FetchFailed('no answer within the time of the request', { cause: error, isLate: true });
      if (signal.aborted) throw new FetchFailed(`no answer within ${timeoutSeconds} s`, { cause: error, isLate: true });
      throw new FetchFailed(error instanceof Error && 'code' in error ? `no connection (${String(error.code)})` : 'no connection', {
        cause: error,
      });
    } finally {
      isOver = true;
      for (const giveBack of held) giveBack();
    }
  }

  /** Returns all addresses of the name, after checking each. */
  async #addresses(url: URL, signal: AbortSignal): Promise<readonly string[]> {
    const { hostname } = url;
    const literal = hostname.replace(/^\[|\]$/g, '');
    const addresses = isIP(literal) === 0 ? await this.#resolved(hostname, signal) : [literal];
    // A name with both allowed and forbidden addresses is suspicious: none of them is used.
    if (addresses.some((address) => !isPublicAddress(address) && !this.#shared.networks.has(address, portOf(url)))) {
      throw new FetchFailed(
        `the host ${hostname} has an address that is not public, and outgoing.privateNetworks does not allow it on port ${portOf(url)}`,
      );
    }
    if (addresses.length === 0) throw new FetchFailed(`the host ${hostname} has no address`);
    return addresses;
  }

  /** Resolves a name, in the tenant's turn. Look-ups cannot be cancelled, but callers can stop waiting. */
  async #resolved(hostname: string, signal: AbortSignal): Promise<readonly string[]> {
    try {
      return await within(this.#shared.lookups.addresses(hostname, this.#tenant, signal), signal);
    } catch (error) {
      if (signal.aborted) throw new FetchFailed('the host name was not resolved in time', { cause: error, isLate: true, wasSent: false });
      throw error;
    }
  }
}

/**
 * Returns the result of some work if it is done before a signal aborts. The work itself continues;
 * its later result is ignored.
 * @throws the reason of the aborted signal
 */
export async function within<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => {
    reject(signal.reason instanceof Error ? signal.reason : new Error('aborted'));
  };
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([promise, work]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
