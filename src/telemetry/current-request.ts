import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';

/** What every line of the log about a request says of it. */
export interface RequestIdentity {
  /** The service's own identifier: in the answer (X-Request-Id), in the log and in the audit log. */
  readonly request: string;
  /** The caller's trace (W3C Trace Context), where it sent one. */
  readonly trace?: string;
}

const current = new AsyncLocalStorage<RequestIdentity>();

/** Runs the work for a request; whatever the work says to the log names the request. */
export function asRequest<T>(traceparent: string | undefined, work: () => T): T {
  const trace = traceOf(traceparent);
  return current.run({ request: randomUUID(), ...(trace === undefined ? {} : { trace }) }, work);
}

export function currentRequest(): RequestIdentity | undefined {
  return current.getStore();
}

/**
 * The trace-id of a `traceparent` header (W3C Trace Context §3.2.2); undefined for one that is malformed, which is ignored as the standard wants.
 * Later versions may have more members at the end.
 */
export function traceOf(traceparent: string | undefined): string | undefined {
  const [, version, trace, parent, more] = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/.exec(traceparent ?? '') ?? [];
  const isKnown = version !== undefined && version !== 'ff' && (version !== '00' || more === undefined);
  if (!isKnown || trace === undefined || /^0+$/.test(trace) || /^0+$/.test(parent ?? '')) return undefined;
  return trace;
}
