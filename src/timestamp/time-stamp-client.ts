import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import * as der from '../asn1/der.ts';
import { DerError, readAll } from '../asn1/reader.ts';
import { FetchFailed, type OutgoingHttp } from '../outgoing/outgoing-http.ts';
import { Refusal } from '../result-codes.ts';
import { checkToken, TokenInvalid, type CheckedToken, type ExpectedToken } from './check-token.ts';
import { timeStampRequest, type MessageImprint } from './request.ts';
import { readTimeStampResponse } from './response.ts';
import type { TimeStampAuthority } from './time-stamp-authority.ts';

/** An authority to ask: at an address, or the service's own without HTTP. */
export type AuthorityAddress = URL | TimeStampAuthority;

/** How time-stamps are to be had (contract §5, formats.md: Time-stamps). */
export interface TimeStampOrder {
  readonly authorities: readonly AuthorityAddress[];
  readonly policy?: string | undefined;
  readonly nonce: boolean;
  /** `user:password` for HTTP Basic. */
  readonly credentials?: string | undefined;
  /** Attempts over the list of authorities; absent: one. */
  readonly recovery?: { readonly intervalSeconds: number; readonly maxAttempts: number } | undefined;
  /** Ends it: no further attempt begins, and the one that runs fails. */
  readonly signal?: AbortSignal | undefined;
  readonly trust: Pick<ExpectedToken, 'anchors' | 'anyRoot' | 'intermediates' | 'allowSha1'>;
}

const answerMaxBytes = 256 * 1024;
const nonceBytes = 16;
/** Between two walks over the list, whatever the interval: a server that fails is not flooded. */
const pauseMinSeconds = 0.25;

/** Gets time-stamp tokens and checks each in full. */
export class TimeStampClient {
  readonly #http: OutgoingHttp;

  constructor(http: OutgoingHttp) {
    this.#http = http;
  }

  /**
   * A token over an imprint. An attempt is one walk over the list; the last failure decides the code.
   * @throws {Refusal} TIMESTAMP_UNAVAILABLE where no authority answered with a token, TIMESTAMP_INVALID where one came that does not hold
   */
  async stamp(imprint: MessageImprint, order: TimeStampOrder): Promise<CheckedToken> {
    const { maxAttempts = 1, intervalSeconds = 0 } = order.recovery ?? {};
    let last: Refusal | undefined;
    for (let attempt = 1; attempt <= maxAttempts; attempt += 1) {
      if (attempt > 1) await pause(Math.max(intervalSeconds, pauseMinSeconds), order.signal);
      for (const authority of order.authorities) {
        if (order.signal?.aborted === true)
          throw last ?? new Refusal('TIMESTAMP_UNAVAILABLE', { message: 'the time of the request is over' });
        try {
          return await this.#ask(authority, imprint, order);
        } catch (error) {
          last = refusalOf(error, authority);
        }
      }
    }
    throw last ?? new Refusal('TIMESTAMP_UNAVAILABLE', { message: 'no time-stamp authority is named' });
  }

  async #ask(
    authority: AuthorityAddress,
    imprint: MessageImprint,
    { policy, nonce, credentials, trust, signal }: TimeStampOrder,
  ): Promise<CheckedToken> {
    // Positive and of full length, so that what is sent is what comes back.
    const number = nonce ? Buffer.concat([Buffer.of(1), randomBytes(nonceBytes)]) : undefined;
    const request = timeStampRequest(imprint, { policy, nonce: number });
    const askedAt = new Date();
    const answer =
      authority instanceof URL ? await this.#post(authority, request, { credentials, signal }) : await authority.respond(request);
    const response = readTimeStampResponse(answer);
    if ('refusal' in response) throw new Refused(response.refusal);
    const sent = number === undefined ? undefined : readAll(der.integer(number)).content;
    return checkToken(response.token, { imprint, nonce: sent, policy, askedAt, ...trust }, new Date());
  }

  async #post(url: URL, body: Uint8Array, order: Pick<TimeStampOrder, 'credentials' | 'signal'>): Promise<Uint8Array> {
    const headers = { 'Content-Type': 'application/timestamp-query', Accept: 'application/timestamp-reply' };
    const answer = await this.#http.fetch({ url, method: 'POST', headers, body, answerMaxBytes, ...order });
    return answer.body;
  }
}

/** Until the next attempt, or the end of all of them. */
async function pause(seconds: number, signal: AbortSignal | undefined): Promise<void> {
  try {
    await delay(seconds * 1000, undefined, signal === undefined ? {} : { signal });
  } catch (error) {
    if (signal?.aborted !== true) throw error;
  }
}

/** The authority answered, and gave no token (PKIStatus): it counts as no answer. */
class Refused extends Error {}

/** What is told of a failure. @throws what is a defect */
function refusalOf(error: unknown, authority: AuthorityAddress): Refusal {
  const name = authority instanceof URL ? `${authority.host}: ` : '';
  if (error instanceof FetchFailed || error instanceof Refused)
    return new Refusal('TIMESTAMP_UNAVAILABLE', { message: `${name}${error.message}` });
  if (error instanceof TokenInvalid) return new Refusal('TIMESTAMP_INVALID', { message: `${name}${error.message}` });
  if (error instanceof DerError)
    return new Refusal('TIMESTAMP_INVALID', { message: `${name}the answer is no time-stamp: ${error.message}` });
  throw error;
}
