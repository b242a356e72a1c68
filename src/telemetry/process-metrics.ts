import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Gauge, type Registry } from 'prom-client';
import { version } from './version.ts';

const resolutionMs = 10;

/** Metrics of the process: version, memory, processor time and event loop delay. */
export function processMetrics(registry: Registry): void {
  const registers = [registry];
  new Gauge({
    name: 'signetd_build_info',
    help: '1, with the versions of signetd and its runtime.',
    labelNames: ['version', 'node'] as const,
    registers,
  }).set({ version: version(), node: process.versions.node }, 1);
  const delay = monitorEventLoopDelay({ resolution: resolutionMs });
  delay.enable();
  gauge('signetd_event_loop_delay_seconds', 'Delay of timers since the last scrape, by quantile.', ['quantile'] as const, (set) => {
    for (const percentile of [50, 99, 100]) {
      // The measuring timer itself waits for the resolution.
      const lateMs = delay.count === 0 ? 0 : Math.max(0, delay.percentile(percentile) / 1e6 - resolutionMs);
      set({ quantile: String(percentile / 100) }, lateMs / 1000);
    }
    delay.reset();
  });
  gauge('process_resident_memory_bytes', 'Resident memory of the daemon.', [], (set) => {
    set({}, process.memoryUsage.rss());
  });
  gauge('process_cpu_seconds_total', 'Processor time of the daemon, user and system.', [], (set) => {
    const { user, system } = process.cpuUsage();
    set({}, (user + system) / 1e6);
  });
  gauge('process_start_time_seconds', 'When the daemon started, in seconds since 1970 (UTC).', [], (set) => {
    set({}, Math.round(Date.now() / 1000 - process.uptime()));
  });

  function gauge<L extends string>(
    name: string,
    help: string,
    labelNames: readonly L[],
    collect: (set: (labels: Partial<Record<L, string>>, value: number) => void) => void,
  ): void {
    const made = new Gauge({
      name,
      help,
      labelNames,
      registers,
      collect() {
        collect((labels, value) => {
          made.set(labels, value);
        });
      },
    });
  }
}
