import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { callAllOperations } from '../support/all-operations.ts';
import { description } from '../support/api.ts';
import { noPromtool, RunningPrometheus } from '../support/prometheus.ts';
import { skipNote } from '../support/skip-note.ts';
import { annotationQueries, panelQueries } from './dashboard.ts';

const deadline = { timeout: 90_000, interval: 1000 };
let prometheus: RunningPrometheus;

describe.skipIf(noPromtool !== undefined)(`a Prometheus that reads the running service${skipNote(noPromtool)}`, () => {
  beforeAll(async () => {
    prometheus = await RunningPrometheus.start(description.opsUrl, 'packaging/monitoring/signetd-rules.yml');
    await callAllOperations();
    await vi.waitFor(async () => {
      expect(await prometheus.query('up')).toHaveLength(1);
    }, deadline);
    // Between two readings, so that rates have something to show.
    await callAllOperations();
  });
  afterAll(async () => {
    await prometheus.stop();
  });

  it('has figures for every query of the dashboard', async () => {
    const withoutFigures = async (): Promise<readonly string[]> => {
      const places: string[] = [];
      for (const { place, expression } of panelQueries) {
        const samples = await prometheus.query(expression);
        if (!samples.some(({ value }) => Number.isFinite(Number(value[1])))) places.push(place);
      }
      return places;
    };
    await expect.poll(withoutFigures, deadline).toEqual([]);
    for (const expression of annotationQueries) await expect(prometheus.query(expression)).resolves.toBeDefined();
  });

  it('evaluates all rules without an error', async () => {
    await expect.poll(async () => prometheus.rulesInError(), deadline).toEqual([]);
  });

  it('has no alert that needs somebody at once', async () => {
    expect(await prometheus.query('ALERTS{alertstate="firing", severity="critical"}')).toEqual([]);
  });
});
