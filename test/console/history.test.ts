import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { MetricsHistory } from '../../src/console/history.ts';
import { bucketsOf, quantileBetween } from '../../src/console/histogram-delta.ts';
import { requestMetrics } from '../../src/telemetry/http-metrics.ts';
import { durationBuckets, Metrics } from '../../src/telemetry/metrics.ts';
import { metricValues } from '../../src/telemetry/metric-values.ts';

describe('the history of the console', () => {
  it('has the requests since the sample before, and those with an error', async () => {
    const metrics = new Metrics();
    const requests = requestMetrics(metrics.registry);
    metrics.tokenState({ ready: () => true, full: () => false, waiting: () => 3 });
    const history = new MetricsHistory(metrics.registry);
    requests.answered('sign', '0/0', 5);
    await history.sample(1000);
    for (let count = 0; count < 8; count += 1) requests.answered('sign', '0/0', 5);
    requests.answered('sign', '2/202', 5);
    requests.answered('checkKey', '503', 5);
    await history.sample(6000);
    const { samples } = history.after(0);
    expect(samples[0]).toMatchObject({ timeMs: 1000, requestsPerSecond: null, requestP50: null });
    expect(samples[1]).toMatchObject({ timeMs: 6000, requestsPerSecond: 2, errorsPerSecond: 0.4, tokenWaiting: 3, tokenReady: 1 });
    expect(samples[1]?.requestP50).toBeGreaterThan(0.0032);
    expect(samples[1]?.requestP50).toBeLessThan(0.0064);
  });

  it('has no duration where nothing was answered', async () => {
    const metrics = new Metrics();
    requestMetrics(metrics.registry);
    const history = new MetricsHistory(metrics.registry);
    await history.sample(0);
    await history.sample(5000);
    expect(history.after(0).samples).toMatchObject([{ timeMs: 5000, requestsPerSecond: 0, requestP99: null, tokenP99: null }]);
  });

  it('has the durations of calls of the token, by what 99 in 100 of them took', async () => {
    const metrics = new Metrics();
    requestMetrics(metrics.registry);
    const calls = metrics.tokenCalls();
    const history = new MetricsHistory(metrics.registry);
    await history.sample(0);
    for (let count = 0; count < 190; count += 1) calls.served('sign', 'ok', 0, 1);
    for (let count = 0; count < 10; count += 1) calls.served('sign', 'ok', 0, 900);
    await history.sample(5000);
    const last = history.after(0).samples.at(-1);
    expect(last?.tokenP50).toBeLessThan(0.01);
    expect(last?.tokenP99).toBeGreaterThan(0.4);
    expect(last?.tokenP99).toBeLessThan(2);
  });

  it('has a sample as soon as it starts', async () => {
    const history = new MetricsHistory(new Metrics().registry);
    // The next one never comes.
    vi.useFakeTimers({ toFake: ['setInterval'] });
    try {
      history.start((error) => {
        throw error;
      });
      await expect.poll(() => history.after(0).samples.length, { timeout: 5000 }).toBe(1);
      history.stop();
    } finally {
      vi.useRealTimers();
    }
  });

  it('has quantiles of buckets in any order', () => {
    const after = new Map([
      [Number.POSITIVE_INFINITY, 10],
      [1, 4],
      [0.5, 2],
      [2, 10],
    ]);
    expect(quantileBetween(new Map(), after, 0.3)).toBeCloseTo(0.75);
    expect(quantileBetween(new Map(), after, 0.1)).toBeCloseTo(0.25);
    expect(quantileBetween(new Map(), after, 0.7)).toBeCloseTo(1.5);
  });

  it('forgets what is older than an hour, and sends only what is new', async () => {
    const history = new MetricsHistory(new Metrics().registry);
    for (let sample = 1; sample <= 725; sample += 1) await history.sample(sample * 5000);
    const { samples, intervalSeconds, spanSeconds } = history.after(0);
    expect([intervalSeconds, spanSeconds, samples.length]).toEqual([5, 3600, 720]);
    expect([samples[0]?.timeMs, samples.at(-1)?.timeMs]).toEqual([6 * 5000, 725 * 5000]);
    expect(history.after(723 * 5000).samples.map(({ timeMs }) => timeMs)).toEqual([724 * 5000, 725 * 5000]);
  });

  it('has quantiles in the same bucket as the values themselves', async () => {
    const seconds = fc.double({ min: 1e-5, max: 3, noNaN: true });
    const property = fc.asyncProperty(fc.array(seconds), fc.array(seconds, { minLength: 1 }), async (earlier, later) => {
      const { registry } = new Metrics();
      const requests = requestMetrics(registry);
      const read = async (): Promise<ReturnType<typeof bucketsOf>> =>
        bucketsOf(await metricValues(registry, 'signetd_request_duration_seconds'));
      for (const value of earlier) requests.answered('sign', '0/0', value * 1000);
      const before = await read();
      for (const value of later) requests.answered('checkKey', '0/0', value * 1000);
      const median = quantileBetween(before, await read(), 0.5);
      const true50 = later.toSorted((a, b) => a - b)[Math.ceil(later.length / 2) - 1] ?? 0;
      const upper = durationBuckets.find((bound) => true50 <= bound + 1e-12) ?? Number.POSITIVE_INFINITY;
      const lower = durationBuckets[durationBuckets.indexOf(upper) - 1] ?? 0;
      expect(median).toBeGreaterThanOrEqual(lower - 1e-9);
      expect(median).toBeLessThanOrEqual(upper + 1e-9);
    });
    await fc.assert(property, { numRuns: 50 });
  });
});
