import { Counter, Histogram, type Registry } from 'prom-client';
import { durationBuckets } from './duration-buckets.ts';

export interface RequestMetrics {
  /** Records a response. `outcome`: result codes such as `0/0` or `2/202`, or an HTTP status. */
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
    help: 'Time from receipt of the request headers until the response is ready to be sent.',
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
