import { lookup } from 'node:dns/promises';
import { request as plainRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { isIP } from 'node:net';
import { isPublicAddress, Networks } from './special-addresses.ts';
import { HostList, httpUrl, UrlRefused } from './url-rules.ts';

/** The exchange did not come to a good end. The message says why, and nothing of what was sent. */
export class FetchFailed extends Error {}

export interface OutgoingSettings {
  /** Hosts that URLs of callers may name. */
  readonly clientHosts: readonly string[];
  /** Networks in CIDR notation that are asked although they are not public. */
  readonly privateNetworks: readonly string[];
  readonly timeoutSeconds: number;
  readonly connectionsMax: number;
  /** PEM of further authorities for https; absent: those that Node trusts. */
  readonly certificateAuthority?: string | undefined;
}

/** The addresses of a name. */
type Resolve = (hostname: string) => Promise<string[]>;

const systemAddresses: Resolve = async (hostname) => (await lookup(hostname, { all: true })).map(({ address }) => address);

export interface OutgoingRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** `user:password` for HTTP Basic. */
  readonly credentials?: string | undefined;
  readonly answerMaxBytes: number;
  /** Ends it before its own time. */
  readonly signal?: AbortSignal | undefined;
}

export interface OutgoingAnswer {
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
}

/**
 * Requests to servers that certificates, callers or the configuration name (contract §5). The name is resolved once, every address that it has is judged,
 * and the connection goes to one of those: a name that changes its mind leads nowhere. Redirects are not followed, compression is not taken, and
 * time and size are limited, over the exchange as a whole.
 */
export class OutgoingHttp {
  readonly #settings: OutgoingSettings;
  readonly #hosts: HostList;
  readonly #networks: Networks;
  readonly #waiting: (() => void)[] = [];
  readonly #resolve: Resolve;
  #open = 0;

  /** @throws {RangeError} for a network that is none */
  constructor(settings: OutgoingSettings, resolve: Resolve = systemAddresses) {
    this.#resolve = resolve;
    this.#settings = settings;
    this.#hosts = new HostList(settings.clientHosts);
    this.#networks = new Networks(settings.privateNetworks);
  }

  /** A URL that a caller gave. @throws {UrlRefused} */
  clientUrl(text: string): URL {
    const url = httpUrl(text);
    if (!this.#hosts.has(url)) throw new UrlRefused('host', `the host ${url.hostname} is not among those that callers may name`);
    return url;
  }

  /** The body of a good answer (200). @throws {FetchFailed} for everything else */
  async fetch(asked: OutgoingRequest): Promise<OutgoingAnswer> {
    const { timeoutSeconds } = this.#settings;
    const own = AbortSignal.timeout(timeoutSeconds * 1000);
    const signal = asked.signal === undefined ? own : AbortSignal.any([own, asked.signal]);
    try {
      await this.#turn(signal);
      try {
        const addresses = await this.#addresses(asked.url, signal);
        return await this.#exchange(asked, addresses, signal);
      } finally {
        this.#open -= 1;
        this.#waiting.shift()?.();
      }
    } catch (error) {
      if (error instanceof FetchFailed) throw error;
      if (asked.signal?.aborted === true) throw new FetchFailed('no answer within the time of the request', { cause: error });
      if (signal.aborted) throw new FetchFailed(`no answer within ${timeoutSeconds} s`, { cause: error });
      throw new FetchFailed(error instanceof Error && 'code' in error ? `no connection (${String(error.code)})` : 'no connection', {
        cause: error,
      });
    }
  }

  /** So many at once: the rest wait, within their own time. */
  async #turn(signal: AbortSignal): Promise<void> {
    while (this.#open >= this.#settings.connectionsMax) {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      const onAbort = (): void => {
        const index = this.#waiting.indexOf(resolve);
        if (index !== -1) this.#waiting.splice(index, 1);
        reject(new FetchFailed('too many requests to other servers at once'));
      };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#waiting.push(resolve);
      await promise;
      signal.removeEventListener('abort', onAbort);
    }
    this.#open += 1;
  }

  /** All that the name has, each judged. */
  async #addresses({ hostname }: URL, signal: AbortSignal): Promise<readonly string[]> {
    const literal = hostname.replace(/^\[|\]$/g, '');
    const addresses = isIP(literal) === 0 ? await within(this.#resolve(hostname), signal) : [literal];
    // One bad address among good ones is no accident.
    if (addresses.some((address) => !isPublicAddress(address) && !this.#networks.has(address))) {
      throw new FetchFailed(`the host ${hostname} has an address that is not public and not allowed`);
    }
    if (addresses.length === 0) throw new FetchFailed(`the host ${hostname} has no address`);
    return addresses;
  }

  async #exchange(
    { url, method, headers, body, credentials, answerMaxBytes }: OutgoingRequest,
    addresses: readonly string[],
    signal: AbortSignal,
  ): Promise<OutgoingAnswer> {
    const pinned = addresses.map((address) => ({ address, family: isIP(address) }));
    const { promise, resolve, reject } = Promise.withResolvers<OutgoingAnswer>();
    const options: RequestOptions = {
      method,
      headers: {
        'Accept-Encoding': 'identity',
        Connection: 'close',
        ...headers,
        ...(body === undefined ? {} : { 'Content-Length': body.length }),
      },
      signal,
      agent: false,
      lookup: (_name, { all }, callback) => {
        const [first] = pinned;
        if (all === true) callback(null, pinned);
        else callback(null, first?.address ?? '', first?.family);
      },
      ...(credentials === undefined ? {} : { auth: credentials }),
    };
    const take = (response: IncomingMessage): void => {
      read(response, answerMaxBytes).then(resolve, reject);
    };
    const { certificateAuthority } = this.#settings;
    const tls = { minVersion: 'TLSv1.2' as const, ...(certificateAuthority === undefined ? {} : { ca: certificateAuthority }) };
    const sent = url.protocol === 'https:' ? tlsRequest(url, { ...options, ...tls }, take) : plainRequest(url, options, take);
    sent.once('error', reject);
    sent.end(body);
    return promise;
  }
}

async function read(response: IncomingMessage, maxBytes: number): Promise<OutgoingAnswer> {
  if (response.statusCode !== 200) {
    response.destroy();
    throw new FetchFailed(`the server answered with status ${response.statusCode ?? 0}`);
  }
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    // Node's HTTP parser hands over bytes where no encoding is set.
    const bytes = chunk as Buffer;
    length += bytes.length;
    if (length > maxBytes) {
      response.destroy();
      throw new FetchFailed(`an answer of more than ${maxBytes} bytes`);
    }
    chunks.push(bytes);
  }
  return { contentType: response.headers['content-type'], body: Buffer.concat(chunks) };
}

/** Look-ups cannot be cancelled; who waits can leave. */
async function within<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const onAbort = (): void => {
    reject(new FetchFailed('the host name was not resolved in time'));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
