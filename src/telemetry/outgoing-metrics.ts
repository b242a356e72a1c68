import { Counter, type Registry } from 'prom-client';
import type { Logger } from './log.ts';

/** How a request to another server ended. `why` has no address but the host, and nothing of what was sent. */
export interface OutgoingEnd {
  readonly kind: 'time-stamp' | 'OCSP' | 'CRL';
  readonly host: string;
  /** `abandoned`: nobody waits for it any more. */
  readonly outcome: 'answered' | 'failed' | 'abandoned';
  readonly why?: string;
}

/** Each host that fails is told so seldom. */
const silenceMs = 60_000;
/** Callers and certificates name hosts: no more than these are told of within that time. */
const hostsMax = 100;

/** Counts requests to other servers and tells of hosts that fail. Answers what is to be told of each request; `now` is of the monotonic clock. */
export function outgoingMetrics(
  registry: Registry,
  log: Logger,
  now: () => number = () => performance.now(),
): (ended: OutgoingEnd) => void {
  const requests = new Counter({
    name: 'signetd_outgoing_requests_total',
    help: 'Requests to other servers by kind (time-stamp, OCSP, CRL) and outcome (answered, failed, abandoned).',
    labelNames: ['kind', 'outcome'] as const,
    registers: [registry],
  });
  const toldMs = new Map<string, number>();
  return ({ kind, host, outcome, why }) => {
    requests.inc({ kind, outcome });
    if (outcome !== 'failed') return;
    const nowMs = now();
    for (const [one, sinceMs] of toldMs) if (nowMs - sinceMs >= silenceMs) toldMs.delete(one);
    if (toldMs.has(host) || toldMs.size >= hostsMax) return;
    toldMs.set(host, nowMs);
    log.warn('another server did not answer as it should', { kind, host, reason: why });
  };
}
