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
 * and the connection goes to one that was judged: a name that changes its mind leads nowhere. Redirects are not followed, compression is not taken, and
 * time and size are limited, over the exchange as a whole.
 */
export class OutgoingHttp {
  readonly #settings: OutgoingSettings;
  readonly #hosts: HostList;
  readonly #networks: Networks;
  readonly #waiting: (() => void)[] = [];
  #open = 0;

  /** @throws {RangeError} for a network that is none */
  constructor(settings: OutgoingSettings) {
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
        const address = await this.#resolve(asked.url, signal);
        return await this.#exchange(asked, address, signal);
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

  async #resolve({ hostname }: URL, signal: AbortSignal): Promise<string> {
    const literal = hostname.replace(/^\[|\]$/g, '');
    const addresses =
      isIP(literal) === 0 ? (await within(lookup(hostname, { all: true }), signal)).map(({ address }) => address) : [literal];
    // One bad address among good ones is no accident.
    if (addresses.some((address) => !isPublicAddress(address) && !this.#networks.has(address))) {
      throw new FetchFailed(`the host ${hostname} has an address that is not public and not allowed`);
    }
    const [first] = addresses;
    if (first === undefined) throw new FetchFailed(`the host ${hostname} has no address`);
    return first;
  }

  async #exchange(
    { url, method, headers, body, credentials, answerMaxBytes }: OutgoingRequest,
    address: string,
    signal: AbortSignal,
  ): Promise<OutgoingAnswer> {
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
        const family = isIP(address);
        if (all === true) callback(null, [{ address, family }]);
        else callback(null, address, family);
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
