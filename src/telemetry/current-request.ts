import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingHttpHeaders } from 'node:http';
import { randomUUID } from 'node:crypto';
import { headersOf, traceContext, type TraceContext, type TraceHeaders } from './trace-context.ts';

/** The registered client that sent a request. */
export interface Sender {
  readonly tenant: string;
  /** Identifies it among all clients. */
  readonly client: string;
}

/** Identity of a request. */
export class RequestIdentity {
  /**
   * Identifier assigned by the service: in the response (X-Request-Id), the log and the audit log.
   */
  readonly request = randomUUID();
  /** Set as soon as it is known. */
  sender: Sender | undefined;
  readonly #headers: TraceHeaders;
  #isGone = false;
  #gone: AbortController | undefined;
  #trace: TraceContext | undefined;

  constructor(headers: TraceHeaders) {
    this.#headers = headers;
  }

  /** Aborted when the sender closes its connection before it has the answer. */
  get gone(): AbortSignal {
    // Most requests never need it.
    this.#gone ??= new AbortController();
    if (this.#isGone) this.#gone.abort();
    return this.#gone.signal;
  }

  /** Notes that the sender waits for no answer any more. */
  leave(): void {
    this.#isGone = true;
    this.#gone?.abort();
  }

  /** The members of each log line about the request. */
  get logged(): Readonly<Record<string, string>> {
    const { traceId, spanId, parentId } = this.#context;
    return { request: this.request, trace: traceId, span: spanId, ...(parentId === undefined ? {} : { parentSpan: parentId }) };
  }

  /** The headers that carry the request's trace on to another server. */
  get traceHeaders(): Readonly<Record<string, string>> {
    return headersOf(this.#context);
  }

  /** Most requests never need it: they log nothing and ask no other server. */
  get #context(): TraceContext {
    this.#trace ??= traceContext(this.#headers);
    return this.#trace;
  }
}

const current = new AsyncLocalStorage<RequestIdentity>();

/**
 * Runs the work for a request; log lines and requests to other servers that the work causes belong
 * to it.
 */
export function asRequest<T>({ traceparent, tracestate }: IncomingHttpHeaders, work: () => T): T {
  return current.run(new RequestIdentity({ traceparent, tracestate }), work);
}

export function currentRequest(): RequestIdentity | undefined {
  return current.getStore();
}

/**
 * Returns whose request causes the present work, so that what is scarce can be shared fairly.
 * Undefined for work of the service itself, and for requests from the public.
 */
export function currentSender(): Sender | undefined {
  return current.getStore()?.sender;
}
