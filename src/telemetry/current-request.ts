import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';

/** Identity of a request, in every log line about it. */
export interface RequestIdentity {
  /**
   * Identifier assigned by the service: in the response (X-Request-Id), the log and the audit log.
   */
  readonly request: string;
  /** The caller's trace-id (W3C Trace Context), if it sent one. */
  readonly trace?: string;
}

const current = new AsyncLocalStorage<RequestIdentity>();

/** Runs the work for a request; log lines written by the work name the request. */
export function asRequest<T>(traceparent: string | undefined, work: () => T): T {
  const trace = traceOf(traceparent);
  return current.run({ request: randomUUID(), ...(trace === undefined ? {} : { trace }) }, work);
}

export function currentRequest(): RequestIdentity | undefined {
  return current.getStore();
}

/**
 * Returns the trace-id of a `traceparent` header (W3C Trace Context §3.2.2); undefined for a
 * malformed header, which the standard requires to be ignored. Later versions may have more members
 * at the end.
 */
export function traceOf(traceparent: string | undefined): string | undefined {
  const [, version, trace, parent, more] = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/.exec(traceparent ?? '') ?? [];
  const isKnown = version !== undefined && version !== 'ff' && (version !== '00' || more === undefined);
  if (!isKnown || trace === undefined || /^0+$/.test(trace) || /^0+$/.test(parent ?? '')) return undefined;
  return trace;
}
