import { Registry } from 'prom-client';
import { expect, it, vi } from 'vitest';
import { eventLoopMetrics } from '../../src/telemetry/event-loop-delay.ts';

const blockedSeconds = 0.6;

/** The samples of a scrape that were late by more than a limit of the buckets. */
async function laterThan(
  registry: Registry,
  limit: string,
): Promise<{ readonly count: number; readonly later: number; readonly sum: number }> {
  const text = await registry.metrics();
  const value = (name: string): number => Number(new RegExp(`^signetd_event_loop_delay_seconds_${name} (\\S+)$`, 'm').exec(text)?.[1]);
  const [count, within] = [value('count'), value(`bucket\\{le="${limit.replace('.', '\\.')}"\\}`)];
  expect(value('bucket\\{le="\\+Inf"\\}')).toBe(count);
  return { count, later: count - within, sum: value('sum') };
}

it('a blocked event loop is one late sample, however often the metrics are read', async () => {
  const registry = new Registry();
  eventLoopMetrics(registry);
  await vi.waitFor(async () => {
    expect((await laterThan(registry, '0.5')).count).toBeGreaterThan(0);
  }, 60_000);
  const before = await laterThan(registry, '0.5');
  const until = performance.now() + 1000 * blockedSeconds;
  while (performance.now() < until);
  await vi.waitFor(async () => {
    expect((await laterThan(registry, '0.5')).later).toBeGreaterThan(before.later);
  }, 60_000);
  const after = await laterThan(registry, '0.5');
  expect(after.sum - before.sum).toBeGreaterThan(0.5);
  await laterThan(registry, '0.5');
  expect((await laterThan(registry, '0.5')).later).toBe(after.later);
});
