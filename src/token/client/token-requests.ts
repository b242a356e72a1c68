import { currentSender } from '../../telemetry/current-request.ts';
import { maxLongRequestBytes, maxRequestBytes, operations, type Answer, type OperationName } from '../wire/frames.ts';
import type { TokenRequest } from './request-lane.ts';

/** Operations that are never repeated: the first attempt may already have made a key. */
const creations: ReadonlySet<OperationName> = new Set(['createKey', 'createMessageKey']);

/** What is known about a request beside its operation: its part in something larger. */
export type Part = Pick<TokenRequest, 'continues' | 'expectedMs'>;
const whole: Part = { continues: false, expectedMs: undefined };

/** Makes the requests of one client of the token host. */
export class TokenRequests {
  readonly #timeoutMs: number;
  #nextId = 1;

  /** @param timeoutMs time after which a request has failed */
  constructor(timeoutMs: number) {
    this.#timeoutMs = timeoutMs;
  }

  /**
   * Makes a request of the present sender, with the promise of its answer.
   * @throws {RangeError} if the body is too long
   */
  make(operation: OperationName, body: Uint8Array, { continues, expectedMs } = whole): { request: TokenRequest; answer: Promise<Answer> } {
    // The host would close the connection, and other requests would fail with it.
    const maxBytes = operation === 'signAsService' ? maxLongRequestBytes : maxRequestBytes;
    if (body.length > maxBytes) throw new RangeError(`the request to the token has ${body.length} bytes, more than ${maxBytes}`);
    const { promise: answer, resolve: settle, reject: fail } = Promise.withResolvers<Answer>();
    const id = this.#nextId;
    this.#nextId = (id % 0xffffffff) + 1;
    const now = performance.now();
    const request = {
      id,
      operation,
      code: operations[operation],
      body,
      sender: currentSender(),
      queuedAtMs: now,
      deadlineMs: now + this.#timeoutMs,
      repeatable: !creations.has(operation),
      repeated: false,
      slow: operation === 'createKey',
      continues,
      expectedMs,
      settle,
      fail,
    };
    return { request, answer };
  }
}
