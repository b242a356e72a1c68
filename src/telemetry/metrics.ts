import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { eventLoopMetrics } from './event-loop-delay.ts';
import { version } from './version.ts';

/** Seconds, from 100 µs, doubling 15 times: for in-memory tokens as well as slow network HSMs. */
export const durationBuckets: number[] = Array.from({ length: 16 }, (_, power) => 1e-4 * 2 ** power);

/** Whole seconds until a moment (milliseconds since epoch); negative afterwards. */
export const secondsUntil = (momentMs: number): number => Math.round((momentMs - Date.now()) / 1000);

const seconds = (milliseconds: number): number => milliseconds / 1000;

/** Metrics of the token; time waiting for it is separate from time spent working. */
export interface TokenMetrics {
  served(operation: string, outcome: 'ok' | 'refused' | 'fault', waitedMs: number, tokenMs: number): void;
}

/** Metrics of the keys created in advance. */
export interface KeyPoolMetrics {
  levelIs(type: string, keys: number): void;
  wanted(type: string, wasReady: boolean): void;
}

export interface TokenGauges {
  ready(): boolean;
  full(): boolean;
  waiting(): number;
}

/** Metrics of one process, in their own registry, so that tests do not share one. */
export class Metrics {
  readonly registry = new Registry();

  /** Returns the text for `/metrics` and its media type. */
  async exposition(): Promise<{ mediaType: string; text: string }> {
    return { mediaType: this.registry.contentType, text: await this.registry.metrics() };
  }

  keyPool(): KeyPoolMetrics {
    const registers = [this.registry];
    const ready = new Gauge({
      name: 'signetd_key_pool_keys',
      help: 'Keys created in advance and ready on the token, by type.',
      labelNames: ['type'] as const,
      registers,
    });
    const wanted = new Counter({
      name: 'signetd_key_pool_wanted_total',
      help: 'Keys requested by createCertificate, by type, and whether one was ready (yes) or had to be created (no).',
      labelNames: ['type', 'ready'] as const,
      registers,
    });
    return {
      levelIs(type, keys) {
        ready.set({ type }, keys);
      },
      wanted(type, wasReady) {
        wanted.inc({ type, ready: wasReady ? 'yes' : 'no' });
      },
    };
  }

  tokenCalls(): TokenMetrics {
    const registers = [this.registry];
    const labelNames = ['operation'] as const;
    const waited = new Histogram({
      name: 'signetd_token_queue_seconds',
      help: 'Time from a request to its response, excluding the time that the token worked on it.',
      labelNames,
      buckets: durationBuckets,
      registers,
    });
    const worked = new Histogram({
      name: 'signetd_token_call_seconds',
      help: 'Time that the token worked on a request.',
      labelNames,
      buckets: durationBuckets,
      registers,
    });
    const requests = new Counter({
      name: 'signetd_token_requests_total',
      help: 'Requests answered by the token host, by outcome: ok, refused (wrong secret, rule of the host), fault (PKCS#11).',
      labelNames: ['operation', 'outcome'] as const,
      registers,
    });
    return {
      served(operation, outcome, waitedMs, tokenMs) {
        waited.observe({ operation }, seconds(waitedMs));
        worked.observe({ operation }, seconds(tokenMs));
        requests.inc({ operation, outcome });
      },
    };
  }

  tokenState(gauges: TokenGauges): void {
    const registers = [this.registry];
    const ready = new Gauge({
      name: 'signetd_token_ready',
      help: '1 while the token host is connected, else 0.',
      registers,
      collect() {
        this.set(gauges.ready() ? 1 : 0);
      },
    });
    const full = new Gauge({
      name: 'signetd_token_full',
      help: '1 if the token had no room for the last key that was to be made, else 0.',
      registers,
      collect() {
        this.set(gauges.full() ? 1 : 0);
      },
    });
    full.set(0);
    const waiting = new Gauge({
      name: 'signetd_token_waiting_requests',
      help: 'Requests waiting for a thread of the token host.',
      registers,
      collect() {
        this.set(gauges.waiting());
      },
    });
    ready.set(0);
    waiting.set(0);
  }
}

/** Metrics of the process: version, memory, processor time and event loop delay. */
export function processMetrics(registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'signetd_build_info',
    help: '1, with the versions of signetd and its runtime.',
    labelNames: ['version', 'node'] as const,
    registers,
  }).set({ version: version(), node: process.versions.node }, 1);
  eventLoopMetrics(registry);
  const memory = new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory of the daemon.',
    registers,
    collect() {
      memory.set(process.memoryUsage.rss());
    },
  });
  const processor = new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Processor time of the daemon, user and system.',
    registers,
    collect() {
      const { user, system } = process.cpuUsage();
      processor.reset();
      processor.inc((user + system) / 1e6);
    },
  });
  new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the daemon started, in seconds since 1970 (UTC).',
    registers,
  }).set(Math.round(Date.now() / 1000 - process.uptime()));
}

/** Keys that should have been destroyed but are still on the token. */
export function leftKeyMetrics(registry: Registry, left: () => number): void {
  const gauge = new Gauge({
    name: 'signetd_token_keys_left',
    help: 'Keys that the token should have destroyed but has not; their destruction is retried.',
    registers: [registry],
    collect() {
      gauge.set(left());
    },
  });
}

/** Metrics of wrong secrets. */
export function secretMetrics(registry: Registry): { readonly wrong: () => void; readonly paced: (scope: 'client' | 'tenant') => void } {
  const registers = [registry];
  const wrong = new Counter({
    name: 'signetd_wrong_secrets_total',
    help: 'Wrong secrets that were counted for their client and tenant, of every operation.',
    registers,
  });
  const paced = new Counter({
    name: 'signetd_paced_secrets_total',
    help: 'Requests answered with 429, their secret not compared, since too many wrong ones had come: from the client, or from the tenant.',
    labelNames: ['scope'] as const,
    registers,
  });
  for (const scope of ['client', 'tenant'] as const) paced.inc({ scope }, 0);
  return {
    wrong: () => {
      wrong.inc();
    },
    paced: (scope) => {
      paced.inc({ scope });
    },
  };
}
