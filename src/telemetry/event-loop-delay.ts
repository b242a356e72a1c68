import { Histogram, type MetricValueWithName, type Registry } from 'prom-client';
import { monitorEventLoopDelay } from 'node:perf_hooks';

type Measured = ReturnType<typeof monitorEventLoopDelay>;

const resolutionMs = 10;
/** In seconds: from the precision of the measurement to a blocked process. */
const buckets = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];
const name = 'signetd_event_loop_delay_seconds';
const help = 'How late timers of the event loop were, measured 100 times a second.';

interface Exposed {
  readonly name: string;
  readonly help: string;
  readonly type: 'histogram';
  readonly aggregator: 'sum';
  readonly values: readonly MetricValueWithName<string>[];
}

/** A histogram of how late the timers of the event loop are. Node measures it without JavaScript. */
class EventLoopDelay extends Histogram {
  readonly #measured: Measured;
  /** Samples up to the limit of each bucket, at the last scrape. */
  readonly #upTo: number[] = buckets.map(() => 0);
  #count = 0;
  #sumSeconds = 0;

  constructor(registry: Registry) {
    super({ name, help, buckets, registers: [registry] });
    this.#measured = monitorEventLoopDelay({ resolution: resolutionMs });
    this.#measured.enable();
  }

  /** Called by the registry and by `get`; prom-client's own has one value for each `observe`. */
  async getForPromString(): Promise<Exposed> {
    this.#read();
    const values: MetricValueWithName<string>[] = [
      ...buckets.map((le, index) => ({ metricName: `${name}_bucket`, labels: { le }, value: this.#upTo[index] ?? 0 })),
      { metricName: `${name}_bucket`, labels: { le: '+Inf' }, value: this.#count },
      { metricName: `${name}_sum`, labels: {}, value: this.#sumSeconds },
      { metricName: `${name}_count`, labels: {}, value: this.#count },
    ];
    return Promise.resolve({ name, help, type: 'histogram', aggregator: 'sum', values });
  }

  /** Node's histogram is never reset: that loses the sample in progress. */
  #read(): void {
    const measured = this.#measured;
    const { count } = measured;
    if (count === this.#count) return;
    const added = count - this.#count;
    for (const [index, limitSeconds] of buckets.entries()) {
      const known = this.#upTo[index] ?? 0;
      // The measuring timer itself waits for the resolution.
      this.#upTo[index] = samplesUpTo(measured, (limitSeconds * 1000 + resolutionMs) * 1e6, { least: known, most: known + added });
    }
    this.#count = count;
    this.#sumSeconds = Math.max(this.#sumSeconds, (count * (measured.mean / 1e6 - resolutionMs)) / 1000);
  }
}

/** Returns how many samples are at most a limit in nanoseconds. */
function samplesUpTo(measured: Measured, limit: number, { least, most }: { readonly least: number; readonly most: number }): number {
  const { count, max } = measured;
  if (max <= limit) return count;
  let [low, high] = [least, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (measured.percentile((100 * middle) / count) <= limit) low = middle;
    else high = middle - 1;
  }
  return low;
}

/** Measures the delay of the event loop. */
export function eventLoopMetrics(registry: Registry): void {
  void new EventLoopDelay(registry);
}
