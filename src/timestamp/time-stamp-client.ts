import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import * as der from '../asn1/der.ts';
import { DerError, readAll } from '../asn1/reader.ts';
import { FetchFailed, type OutgoingHttp } from '../outgoing/outgoing-http.ts';
import { Refusal } from '../result-codes.ts';
import type { WorkThreads } from '../threads/work-threads.ts';
import { checkTokenAhead, TokenInvalid, type CheckedToken, type ExpectedToken } from './check-token.ts';
import { timeStampRequest, type MessageImprint } from './request.ts';
import { readTimeStampResponse } from './response.ts';
import type { TimeStampAuthority } from './time-stamp-authority.ts';

/** An authority to ask: at a URL, or this service's own without HTTP. */
export type AuthorityAddress = URL | TimeStampAuthority;

/** Options for obtaining time-stamps (contract §5, formats.md: Time-stamps). */
export interface TimeStampOrder {
  readonly authorities: readonly AuthorityAddress[];
  /**
   * Whether messages do not tell how an exchange failed: a caller chose the addresses, and would
   * learn about servers that it cannot reach itself. Default: they do.
   */
  readonly hidesFailures?: boolean | undefined;
  readonly policy?: string | undefined;
  /** Whether the request has a nonce; or the number itself, unsigned, the first octet the highest. */
  readonly nonce: boolean | Uint8Array;
  /** `user:password` for HTTP Basic. */
  readonly credentials?: string | undefined;
  /** Attempts to go through the list of authorities; absent: one. */
  readonly recovery?: { readonly intervalSeconds: number; readonly maxAttempts: number } | undefined;
  /** Aborts the current attempt and prevents further ones. */
  readonly signal?: AbortSignal | undefined;
  readonly trust: Pick<ExpectedToken, 'anchors' | 'anyRoot' | 'intermediates' | 'allowSha1'>;
}

const answerMaxBytes = 256 * 1024;
const nonceBytes = 16;
/** Minimum pause between two attempts, so that a failing server is not flooded. */
const pauseMinSeconds = 0.25;

/** Obtains time-stamp tokens and checks each in full. */
export class TimeStampClient {
  readonly #http: OutgoingHttp;
  readonly #threads: Pick<WorkThreads, 'run'>;

  constructor(http: OutgoingHttp, threads: Pick<WorkThreads, 'run'>) {
    this.#http = http;
    this.#threads = threads;
  }

  /**
   * Returns a token over an imprint. Each attempt goes through the list once; the last failure
   * determines the code.
   * @throws {Refusal} TIMESTAMP_UNAVAILABLE if no authority returned a token, TIMESTAMP_INVALID if
   * a token is invalid
   */
  async stamp(imprint: MessageImprint, order: TimeStampOrder): Promise<CheckedToken> {
    const { maxAttempts = 1, intervalSeconds = 0 } = order.recovery ?? {};
    let last: Refusal | undefined;
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      if (attempt > 1) await pause(Math.max(intervalSeconds, pauseMinSeconds), order.signal);
      for (const authority of order.authorities) {
        if (order.signal?.aborted === true) throw last ?? new Refusal('TIMESTAMP_UNAVAILABLE', { message: 'the request timed out' });
        try {
          return await this.#ask(authority, imprint, order);
        } catch (error) {
          last = refusalOf(error, authority, order);
        }
      }
    }
    throw last ?? new Refusal('TIMESTAMP_UNAVAILABLE', { message: 'no time-stamp authority is given' });
  }

  async #ask(
    authority: AuthorityAddress,
    imprint: MessageImprint,
    { policy, nonce, credentials, trust, signal }: TimeStampOrder,
  ): Promise<CheckedToken> {
    // Positive and of full length, so that it comes back unchanged.
    const random = (): Uint8Array => Buffer.concat([Buffer.of(1), randomBytes(nonceBytes)]);
    const number = nonce instanceof Uint8Array ? nonce : nonce ? random() : undefined;
    const request = timeStampRequest(imprint, { policy, nonce: number });
    const askedAt = new Date();
    const tokenIn = async (answer: Uint8Array): Promise<CheckedToken> => {
      const response = readTimeStampResponse(answer);
      if ('refusal' in response) throw new Refused(response.refusal);
      const sent = number === undefined ? undefined : readAll(der.integer(number)).content;
      return checkTokenAhead(response.token, { imprint, nonce: sent, policy, askedAt, ...trust }, new Date(), this.#threads);
    };
    if (!(authority instanceof URL)) return tokenIn(await authority.respond(request));
    const headers = { 'Content-Type': 'application/timestamp-query', Accept: 'application/timestamp-reply' };
    return this.#http.fetchAs({ url: authority, method: 'POST', headers, body: request, answerMaxBytes, credentials, signal }, tokenIn);
  }
}

/** Waits until the next attempt or until the signal aborts. */
async function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(seconds * 1000, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}

/** The authority responded without a token (PKIStatus), which counts as unavailable. */
class Refused extends Error {}

/** Converts an expected error to a refusal. @throws any other error */
function refusalOf(error: unknown, authority: AuthorityAddress, { hidesFailures = false }: Pick<TimeStampOrder, 'hidesFailures'>): Refusal {
  const name = authority instanceof URL ? `${authority.host}: ` : '';
  if (hidesFailures && (error instanceof FetchFailed || error instanceof DerError)) {
    const code = error instanceof FetchFailed ? 'TIMESTAMP_UNAVAILABLE' : 'TIMESTAMP_INVALID';
    return new Refusal(code, { message: `${name}no valid answer` });
  }
  if (error instanceof FetchFailed || error instanceof Refused)
    return new Refusal('TIMESTAMP_UNAVAILABLE', { message: `${name}${error.message}` });
  if (error instanceof TokenInvalid) return new Refusal('TIMESTAMP_INVALID', { message: `${name}${error.message}` });
  if (error instanceof DerError)
    return new Refusal('TIMESTAMP_INVALID', { message: `${name}the response is not a time-stamp: ${error.message}` });
  throw error;
}
