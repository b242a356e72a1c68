import { request as plainRequest, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as tlsRequest } from 'node:https';
import { isIP } from 'node:net';
import { FetchFailed } from './fetch-failed.ts';

export interface OutgoingRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** `user:password` for HTTP Basic. */
  readonly credentials?: string | undefined;
  readonly answerMaxBytes: number;
  /** Whether every answer is a good one, whatever its status; absent: 200 alone. */
  readonly takesAnyStatus?: boolean;
  /** Ends it before its own time. */
  readonly signal?: AbortSignal | undefined;
}

export interface OutgoingAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
}

/** Settings of an exchange, beside what is asked. */
export interface ExchangeOptions {
  /** Where the connection goes, whatever the name has by now. */
  readonly addresses: readonly string[];
  readonly signal: AbortSignal;
  /** PEM of further authorities for https; absent: those that Node trusts. */
  readonly certificateAuthority?: string | undefined;
  /** Waited for before more than `smallBytes` of an answer are read. */
  readonly beforeMore: () => Promise<void>;
}

/** What every exchange may read at once; few have more at a time, since it is all in memory. */
const smallBytes = 1024 * 1024;

/**
 * Sends one request and returns its answer.
 * @throws {FetchFailed} for an answer that is not a good one; Node's errors of connections
 */
export async function exchange(asked: OutgoingRequest, { addresses, signal, ...more }: ExchangeOptions): Promise<OutgoingAnswer> {
  const { url, method, headers, body, credentials } = asked;
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
  let isAnswered = false;
  const take = (response: IncomingMessage): void => {
    isAnswered = true;
    read(response, asked, more.beforeMore).then(resolve, reject);
  };
  const tls = {
    minVersion: 'TLSv1.2' as const,
    ...(more.certificateAuthority === undefined ? {} : { ca: more.certificateAuthority }),
  };
  const sent = url.protocol === 'https:' ? tlsRequest(url, { ...options, ...tls }, take) : plainRequest(url, options, take);
  sent.once('error', reject);
  // Nobody asked for another protocol: Node ends the connection without a word where nobody takes
  // it.
  sent.once('upgrade', (response, socket) => {
    socket.destroy();
    reject(badStatus(response));
  });
  sent.once('close', () => {
    // Where an answer has begun, reading it says how it ended.
    if (!isAnswered) reject(new FetchFailed('the connection ended without an answer'));
  });
  sent.end(body);
  return promise;
}

function badStatus({ statusCode: status = 0 }: IncomingMessage): FetchFailed {
  return new FetchFailed(`the server answered with status ${status}`, { status });
}

async function read(
  response: IncomingMessage,
  { answerMaxBytes: maxBytes, takesAnyStatus = false }: OutgoingRequest,
  beforeMore: () => Promise<void>,
): Promise<OutgoingAnswer> {
  if (response.statusCode !== 200 && !takesAnyStatus) {
    response.destroy();
    throw badStatus(response);
  }
  const tooMuch = (): FetchFailed => {
    response.destroy();
    return new FetchFailed(`an answer of more than ${maxBytes} bytes`);
  };
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooMuch();
  const chunks: Buffer[] = [];
  let length = 0;
  let isMore = false;
  for await (const chunk of response) {
    // Node's HTTP parser hands over bytes where no encoding is set.
    const bytes = chunk as Buffer;
    length += bytes.length;
    if (length > maxBytes) throw tooMuch();
    if (!isMore && length > smallBytes) {
      isMore = true;
      await beforeMore();
    }
    chunks.push(bytes);
  }
  return { status: response.statusCode ?? 0, contentType: response.headers['content-type'], body: Buffer.concat(chunks) };
}
