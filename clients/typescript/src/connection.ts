import { randomUUID } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Agent, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { pipeline } from 'node:stream/promises';
import type { Readable } from 'node:stream';
import { errorOfResult, errorOfStatus, SignetdError } from './signetd-error.ts';

/** Address and credentials of a client. */
export interface ConnectionOptions {
  /** Such as `https://signetd.example.org:8443`. */
  readonly baseUrl: string;
  /** The CA of the service's certificate, PEM. */
  readonly certificateAuthority: string | Buffer;
  /** The client certificate, with its chain if there is one, PEM. */
  readonly certificate: string | Buffer;
  /** The private key of the client certificate, PEM. */
  readonly key: string | Buffer;
  /** If the key is encrypted. */
  readonly passphrase?: string;
  /** Time for one attempt, without a byte in either direction (default: 60,000). */
  readonly timeoutMilliseconds?: number;
  /** Attempts beyond the first (default: 3). */
  readonly repetitionsMax?: number;
  /** The longest `Retry-After` that is waited for (default: 30); beyond it the call fails at once. */
  readonly pauseMaxSeconds?: number;
  /** Concurrent connections (default: 16). */
  readonly connectionsMax?: number;
}

export interface CallOptions {
  /** Ends the request early. */
  readonly signal?: AbortSignal;
  /**
   * Identifies the request for operations that can be repeated with it (default: a random UUID for
   * each call). Give one, and store it, to repeat a request after a crash of the application.
   */
  readonly idempotencyKey?: string;
  /** Sent as `traceparent` (W3C Trace Context). */
  readonly traceParent?: string;
}

/**
 * When a request without an answer may be sent again. `with-key`: with an `Idempotency-Key`.
 * `always`: the operation changes nothing, or changes the same thing again. `refused`: only if the
 * service has refused it before doing anything (429, 2/291).
 */
export type Repetition = 'with-key' | 'always' | 'refused';

interface Exchange {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body?: string | Readable;
  readonly signal?: AbortSignal;
}

/** Connections to one service, with mutual TLS. */
export class Connection {
  readonly #baseUrl: string;
  readonly #agent: Agent;
  readonly #timeoutMilliseconds: number;
  readonly #repetitionsMax: number;
  readonly #pauseMaxSeconds: number;

  constructor(options: ConnectionOptions) {
    this.#baseUrl = options.baseUrl.replace(/\/$/, '');
    this.#timeoutMilliseconds = options.timeoutMilliseconds ?? 60_000;
    this.#repetitionsMax = options.repetitionsMax ?? 3;
    this.#pauseMaxSeconds = options.pauseMaxSeconds ?? 30;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: options.connectionsMax ?? 16,
      minVersion: 'TLSv1.2',
      // Requests have passwords of keys: NODE_TLS_REJECT_UNAUTHORIZED must not switch this off.
      rejectUnauthorized: true,
      ca: options.certificateAuthority,
      cert: options.certificate,
      key: options.key,
      ...(options.passphrase === undefined ? {} : { passphrase: options.passphrase }),
    });
  }

  /** Calls an operation; throws {@link SignetdError} unless it succeeded. */
  async call<Answer>(path: string, body: unknown, repetition: Repetition, options: CallOptions = {}): Promise<Answer> {
    const headers: Record<string, string> = { 'Content-Type': 'application/json' };
    if (repetition === 'with-key') headers['Idempotency-Key'] = options.idempotencyKey ?? randomUUID();
    if (options.traceParent !== undefined) headers['traceparent'] = options.traceParent;
    const exchange = { method: 'POST', path, headers, body: JSON.stringify(body), ...signalOf(options) };
    return this.#repeated(repetition, options.signal, async () => {
      const response = await this.#exchange(exchange);
      const said = await bodyOf(response);
      if (response.statusCode !== 200) throw errorOfStatus(response.statusCode ?? 0, said, traitsOf(response.headers));
      const answer = parsed(said);
      const error = errorOfResult(answer, traitsOf(response.headers).requestId);
      if (error !== undefined) throw error;
      return answer as Answer;
    });
  }

  /** Sends a stream, once: it cannot be read again. Returns the answer. */
  async send(path: string, content: Readable, headers: Exchange['headers'], options: CallOptions = {}): Promise<string> {
    const response = await this.#exchange({ method: 'POST', path, headers, body: content, ...signalOf(options) });
    const said = await bodyOf(response);
    if (response.statusCode !== 201) throw errorOfStatus(response.statusCode ?? 0, said, traitsOf(response.headers));
    return said;
  }

  /** GET, HEAD or DELETE of a file; the body of a GET is a stream that the caller reads to its end or destroys. */
  async file(method: 'GET' | 'HEAD' | 'DELETE', path: string, options: CallOptions = {}): Promise<IncomingMessage> {
    return this.#repeated('always', options.signal, async () => {
      const response = await this.#exchange({ method, path, headers: {}, ...signalOf(options) });
      if (response.statusCode === 200 || response.statusCode === 204) return response;
      throw errorOfStatus(response.statusCode ?? 0, await bodyOf(response), traitsOf(response.headers));
    });
  }

  /** Closes the connections that are kept open. */
  close(): void {
    this.#agent.destroy();
  }

  async #repeated<T>(repetition: Repetition, signal: AbortSignal | undefined, attempt: () => Promise<T>): Promise<T> {
    for (let repeated = 0; ; repeated += 1) {
      try {
        return await attempt();
      } catch (error) {
        if (!(error instanceof SignetdError) || signal?.aborted === true) throw error;
        const askedSeconds = error.retryAfterSeconds ?? 0;
        if (repeated >= this.#repetitionsMax || askedSeconds > this.#pauseMaxSeconds || !mayRepeat(error, repetition)) throw error;
        // Twice as long each time, and not all clients at once.
        const pauseMilliseconds = askedSeconds * 1000 + 100 * 2 ** repeated * (1 + Math.random());
        await delay(pauseMilliseconds, undefined, signal === undefined ? {} : { signal });
      }
    }
  }

  async #exchange({ method, path, headers, body, signal }: Exchange): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const failed = (cause: unknown): void => {
        const reason = cause instanceof Error ? cause.message : String(cause);
        reject(new SignetdError('NO_ANSWER', `no answer from ${this.#baseUrl}: ${reason}`, { cause }));
      };
      const sent = request(`${this.#baseUrl}${path}`, {
        method,
        agent: this.#agent,
        timeout: this.#timeoutMilliseconds,
        headers: typeof body === 'string' ? { ...headers, 'Content-Length': Buffer.byteLength(body) } : headers,
        ...(signal === undefined ? {} : { signal }),
      });
      sent.on('response', resolve);
      sent.on('error', failed);
      sent.on('timeout', () => sent.destroy(new Error(`nothing was received for ${this.#timeoutMilliseconds} ms`)));
      if (body === undefined || typeof body === 'string') sent.end(body);
      // The service may refuse a file before it has all of it: the answer counts then, not the broken stream.
      else pipeline(body, sent).catch(failed);
    });
  }
}

function signalOf({ signal }: CallOptions): { signal?: AbortSignal } {
  return signal === undefined ? {} : { signal };
}

async function bodyOf(response: IncomingMessage): Promise<string> {
  try {
    return await text(response);
  } catch (cause) {
    throw new SignetdError('NO_ANSWER', 'the answer ended early', { cause });
  }
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    // The parser's message quotes the text, which may have the password of a new key.
    throw new SignetdError('UNKNOWN', 'the answer is not JSON', { status: 200 });
  }
}

/** Whether the same request may be sent again after this failure. */
function mayRepeat({ outcome, status, code }: SignetdError, repetition: Repetition): boolean {
  // Nothing was done: too many requests, or the token was unavailable.
  if (status === 429 || code === '2/291') return true;
  // Something may have been done: the state store can fail in the middle of the work.
  return repetition !== 'refused' && (status === 503 || outcome === 'NO_ANSWER');
}

function traitsOf(headers: IncomingHttpHeaders): { requestId?: string; retryAfterSeconds?: number } {
  const requestId = headers['x-request-id'];
  const retryAfterSeconds = Number(headers['retry-after']);
  return {
    ...(typeof requestId === 'string' ? { requestId } : {}),
    ...(Number.isFinite(retryAfterSeconds) ? { retryAfterSeconds } : {}),
  };
}
