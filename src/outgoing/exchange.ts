import { type IncomingMessage, request as plainRequest, type RequestOptions } from 'node:http';
import { Agent as TlsAgent, request as tlsRequest } from 'node:https';
import { isIP } from 'node:net';
import { boundedContext } from '../service/bounded-context.ts';
import { sharedMemory } from '../service/shared-memory.ts';

interface FetchFault {
  readonly cause?: unknown;
  readonly status?: number;
  readonly isLate?: boolean;
  readonly wasSent?: boolean;
}

/**
 * Thrown if an exchange failed. The message gives the reason, and nothing of what was sent; the
 * cause is Node's connection error.
 */
export class FetchFailed extends Error {
  /** Status of the answer, if that is the reason. */
  readonly status: number | undefined;
  /** True if the time ran out before the answer arrived. */
  readonly isLate: boolean;
  /** False if nothing of the request was sent. */
  readonly wasSent: boolean;

  constructor(message: string, { cause, status, isLate = false, wasSent = true }: FetchFault = {}) {
    super(message, { cause });
    this.status = status;
    this.isLate = isLate;
    this.wasSent = wasSent;
  }
}

export interface OutgoingRequest {
  readonly url: URL;
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
  /** `user:password` for HTTP Basic. */
  readonly credentials?: string | undefined;
  readonly answerMaxBytes: number;
  /** Whether an answer with any status is accepted. Default: only 200. */
  readonly takesAnyStatus?: boolean;
  /** Aborts the request before its own time-out. */
  readonly signal?: AbortSignal | undefined;
}

export interface OutgoingAnswer {
  readonly status: number;
  readonly contentType: string | undefined;
  readonly body: Uint8Array;
}

/** Settings of an exchange beside the request. */
export interface ExchangeOptions {
  /** Addresses to connect to, regardless of what the name resolves to by now. */
  readonly addresses: readonly string[];
  readonly signal: AbortSignal;
  /** Authorities trusted for https, PEM. Default: those that Node trusts. */
  readonly certificateAuthority?: string | undefined;
  /** Headers that the request's own override. */
  readonly traceHeaders?: Readonly<Record<string, string>> | undefined;
  /** Awaited before more than `smallBytes` of an answer are read. */
  readonly beforeMore: () => Promise<void>;
}

/**
 * Bytes that every exchange may read; only a few may read more at a time, since answers are held in
 * memory.
 */
const smallBytes = 1024 * 1024;

/**
 * Sends one request and returns its answer.
 * @throws {FetchFailed} for an answer that is not accepted; Node's connection errors
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
      ...more.traceHeaders,
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
  const ca = more.certificateAuthority === undefined ? {} : { ca: more.certificateAuthority };
  const sent =
    url.protocol === 'https:'
      ? tlsRequest(url, { ...options, agent: new TlsAgent({ secureContext: boundedContext({ minVersion: 'TLSv1.2', ...ca }) }) }, take)
      : plainRequest(url, options, take);
  sent.once('error', reject);
  // No protocol upgrade was requested: without a listener, Node closes the connection silently.
  sent.once('upgrade', (response, socket) => {
    socket.destroy();
    reject(badStatus(response));
  });
  sent.once('close', () => {
    // Once an answer has begun, reading it tells how it ended.
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
    return new FetchFailed(`the answer has more than ${maxBytes} bytes`);
  };
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw tooMuch();
  const chunks: Buffer[] = [];
  let length = 0;
  let isMore = false;
  for await (const chunk of response) {
    // Node's HTTP parser passes bytes if no encoding is set.
    const bytes = chunk as Buffer;
    length += bytes.length;
    if (length > maxBytes) throw tooMuch();
    if (!isMore && length > smallBytes) {
      isMore = true;
      await beforeMore();
    }
    chunks.push(bytes);
  }
  return { status: response.statusCode ?? 0, contentType: response.headers['content-type'], body: joined(chunks, length) };
}

/** Joins the pieces; threads share the memory of a large answer. */
function joined(chunks: readonly Buffer[], length: number): Uint8Array {
  if (length <= smallBytes) return Buffer.concat(chunks);
  const all = new Uint8Array(sharedMemory(length));
  let offset = 0;
  for (const chunk of chunks) {
    all.set(chunk, offset);
    offset += chunk.length;
  }
  return all;
}
