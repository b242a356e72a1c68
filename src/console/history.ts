import type { Registry } from 'prom-client';
import { metricValues, type MetricValue } from '../telemetry/metric-values.ts';
import { bucketsOf, quantileBetween, type Buckets } from './histogram-delta.ts';
import type { History, Sample } from './page/answers.ts';

const intervalSeconds = 5;
const samplesMax = 720;
const names = [
  ...(['timeMs', 'requestsPerSecond', 'errorsPerSecond', 'requestP50', 'requestP99'] as const),
  ...(['tokenP50', 'tokenP99', 'tokenWaiting', 'tokenReady'] as const),
] satisfies readonly (keyof Sample)[];

interface Reading {
  readonly timeMs: number;
  readonly requests: number;
  readonly errors: number;
  readonly requestSeconds: Buckets;
  readonly tokenSeconds: Buckets;
}

/**
 * The last hour of a few metrics, in arrays of a fixed size, so that a page shows it as soon as it
 * opens. Reads only counters and histograms that no reading resets.
 */
export class MetricsHistory {
  readonly #registry: Registry;
  readonly #columns: Readonly<Record<keyof Sample, Float64Array>>;
  #count = 0;
  #last: Reading | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(registry: Registry) {
    this.#registry = registry;
    const column = (): Float64Array => new Float64Array(samplesMax).fill(Number.NaN);
    this.#columns = {
      ...{ timeMs: column(), requestsPerSecond: column(), errorsPerSecond: column(), requestP50: column(), requestP99: column() },
      ...{ tokenP50: column(), tokenP99: column(), tokenWaiting: column(), tokenReady: column() },
    };
  }

  /** From now on takes a sample every few seconds. `failed` is told of a sample that fails. */
  start(failed: (error: unknown) => void): void {
    const take = (): void => {
      this.sample(Date.now()).catch(failed);
    };
    take();
    this.#timer = setInterval(take, intervalSeconds * 1000).unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Takes a sample now. */
  async sample(timeMs: number): Promise<void> {
    const [requests, requestSeconds, tokenSeconds, waiting, ready] = await Promise.all([
      metricValues(this.#registry, 'signetd_requests_total'),
      metricValues(this.#registry, 'signetd_request_duration_seconds'),
      metricValues(this.#registry, 'signetd_token_call_seconds'),
      metricValues(this.#registry, 'signetd_token_waiting_requests'),
      metricValues(this.#registry, 'signetd_token_ready'),
    ]);
    const reading: Reading = {
      timeMs,
      requests: sumOf(requests, () => true),
      errors: sumOf(requests, (outcome) => !outcome.startsWith('0/')),
      requestSeconds: bucketsOf(requestSeconds),
      tokenSeconds: bucketsOf(tokenSeconds),
    };
    const gauges = { tokenWaiting: waiting[0]?.value ?? Number.NaN, tokenReady: ready[0]?.value ?? Number.NaN };
    const values = { timeMs, ...gauges, ...sinceLast(this.#last, reading) };
    for (const name of names) this.#columns[name][this.#count % samplesMax] = values[name] ?? Number.NaN;
    this.#count += 1;
    this.#last = reading;
  }

  /** Returns the samples after a moment (milliseconds since epoch). */
  after(timeMs: number): History {
    const first = Math.max(0, this.#count - samplesMax);
    const samples: Sample[] = [];
    for (let index = first; index < this.#count; index += 1) {
      const at = (name: keyof Sample): number | null => finite(this.#columns[name][index % samplesMax]);
      const sampleMs = at('timeMs') ?? 0;
      if (sampleMs <= timeMs) continue;
      samples.push({
        timeMs: sampleMs,
        ...{ requestsPerSecond: at('requestsPerSecond'), errorsPerSecond: at('errorsPerSecond') },
        ...{ requestP50: at('requestP50'), requestP99: at('requestP99'), tokenP50: at('tokenP50'), tokenP99: at('tokenP99') },
        ...{ tokenWaiting: at('tokenWaiting'), tokenReady: at('tokenReady') },
      });
    }
    return { intervalSeconds, spanSeconds: intervalSeconds * samplesMax, samples };
  }
}

type Changes = Omit<Sample, 'timeMs' | 'tokenWaiting' | 'tokenReady'>;

function sinceLast(last: Reading | undefined, now: Reading): Partial<Changes> {
  const seconds = last === undefined ? 0 : (now.timeMs - last.timeMs) / 1000;
  if (last === undefined || seconds <= 0) return {};
  return {
    requestsPerSecond: (now.requests - last.requests) / seconds,
    errorsPerSecond: (now.errors - last.errors) / seconds,
    requestP50: quantileBetween(last.requestSeconds, now.requestSeconds, 0.5),
    requestP99: quantileBetween(last.requestSeconds, now.requestSeconds, 0.99),
    tokenP50: quantileBetween(last.tokenSeconds, now.tokenSeconds, 0.5),
    tokenP99: quantileBetween(last.tokenSeconds, now.tokenSeconds, 0.99),
  };
}

function sumOf(values: readonly MetricValue[], isWanted: (outcome: string) => boolean): number {
  return values.reduce((sum, { labels, value }) => (isWanted(String(labels['outcome'])) ? sum + value : sum), 0);
}

function finite(value: number | undefined): number | null {
  return value === undefined || !Number.isFinite(value) ? null : value;
}
