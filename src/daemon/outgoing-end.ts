import type { OutgoingRequest } from '../outgoing/exchange.ts';
import type { OutgoingEnd } from '../telemetry/outgoing-metrics.ts';

/** What is to be told of a request to another server: callers alone are told else. */
export function outgoingEnd(asked: OutgoingRequest, failure: Error | undefined): OutgoingEnd {
  const of = { kind: kindOf(asked), host: asked.url.host };
  if (failure === undefined) return { ...of, outcome: 'answered' };
  return { ...of, outcome: isAbandoned(asked) ? 'abandoned' : 'failed', why: failure.message };
}

/** By what is sent: CRLs are fetched, the others are asked. */
function kindOf({ method, headers = {} }: OutgoingRequest): OutgoingEnd['kind'] {
  if (method === 'GET') return 'CRL';
  return headers['Content-Type'] === 'application/timestamp-query' ? 'time-stamp' : 'OCSP';
}

/** Whether who asked has left, before any time was over. */
function isAbandoned({ signal }: OutgoingRequest): boolean {
  const reason: unknown = signal?.aborted === true ? signal.reason : undefined;
  return reason !== undefined && !(reason instanceof DOMException && reason.name === 'TimeoutError');
}
