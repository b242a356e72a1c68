import { Counter, Histogram, type Registry } from 'prom-client';
import { durationBuckets } from './duration-buckets.ts';

export interface RequestMetrics {
  /** `outcome`: `0/0`, `2/202` and the like; or an HTTP status. */
  answered(operation: string, outcome: string, ms: number): void;
}

/** Requests that reached an operation. */
export function requestMetrics(registry: Registry): RequestMetrics {
  const registers = [registry];
  const requests = new Counter({
    name: 'signetd_requests_total',
    help: 'Requests that reached an operation, by outcome: result codes (major/minor) or the HTTP status of a problem.',
    labelNames: ['operation', 'outcome'] as const,
    registers,
  });
  const duration = new Histogram({
    name: 'signetd_request_duration_seconds',
    help: 'Time from the request, when its headers have come, until its answer is ready to leave.',
    labelNames: ['operation'] as const,
    buckets: durationBuckets,
    registers,
  });
  return {
    answered(operation, outcome, ms) {
      requests.inc({ operation, outcome });
      duration.observe({ operation }, ms / 1000);
    },
  };
}
