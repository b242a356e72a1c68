import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Load } from '../../bench/native-tools.ts';
import { beginOf, blockNames, end, withFigures, type SizingFigures } from '../../bench/sizing-page.ts';

const page = readFileSync('docs/sizing.md', 'utf8');
const load = (requestsPerSecond: number): Load => ({
  ...{ connections: 8, seconds: 1, requests: 1, requestsPerSecond, errors: 0, firstError: '', p50Milliseconds: 1, p99Milliseconds: 2 },
  ...{ maxMilliseconds: 3, cpuSeconds: 1, cpuSecondsPerRequest: 1, processes: [] },
});
const store = { key: 1234, keptRaw: 700, keptCades: 4000 };
const commit = { perSecond: 1000, p99Ms: 1.25 };
const figures: SizingFigures = {
  machine: {
    ...{
      processors: 4,
      model: 'a processor',
      memoryBytes: 8e9,
      system: 'Linux',
      node: '24',
      token: 'SoftHSM 2',
      postgresql: 'PostgreSQL 15',
    },
    ...{ date: '2026-01-02T03:04:05.000Z', commit: '0123abcd' },
  },
  formats: [
    {
      ...{ name: 'a kind', perSecond: 1234, cpuSeconds: 0.0005, threadSeconds: 0.0004, p99Ms: 20.4, aloneP50Ms: 1.5 },
      ...{ auditBytes: 600, accountBytes: 200 },
    },
    {
      name: 'another',
      perSecond: 9000,
      cpuSeconds: 0.0001,
      threadSeconds: 0.0001,
      p99Ms: undefined,
      aloneP50Ms: 0.5,
      auditBytes: 0,
      accountBytes: 0,
    },
  ],
  memory: { started: { daemon: 100, host: 50 }, peak: { daemon: 300, host: 60 }, rested: { daemon: 200, host: 55 } },
  xmlMemoryTimes: 13.04,
  pdf: { megabytes: 100, seconds: 0.5, mebibytesMore: 40 },
  growth: { SQLite: store, PostgreSQL: undefined },
  storedBytesEach: 1.001,
  token: [{ threads: 8, latencyMs: 20, perSecond: 390, hostCpuSeconds: 0.0001 }],
  commits: [{ name: 'SQLite', limit: { name: 'a limit', ...commit }, rows: [{ writers: 1, ...commit }] }],
  audit: {
    ...{ connections: 32, perSecond: { on: 90, off: 100 }, cpuMicroseconds: { on: 540, off: 500 }, p99Ms: { on: 1, off: 1 } },
    ...{ loopDelayMs: 1, errors: 0 },
  },
  instances: [{ connections: 8, one: load(100), behind: load(90), two: load(180) }],
};

/** What stands between the marks of a part. */
const blockOf = (name: string, text = page): string => text.split(beginOf(name))[1]?.split(end)[0]?.trim() ?? '';

describe('docs/sizing.md', () => {
  it('has measured figures in every part, and says where and when they were measured', () => {
    for (const name of blockNames) expect(blockOf(name), name).not.toBe('');
    expect(blockOf('machine')).toMatch(/^- \*\*Measured:\*\* \d{4}-\d\d-\d\d, commit [0-9a-f]{8}/m);
    for (const kind of [
      'raw signature, RSA-2048',
      'CAdES of 1 KB, level LT',
      'XAdES of 1 KB, level T',
      'PAdES of 100 KB, level B',
      '2D-Doc',
      'OCSP',
    ])
      expect(blockOf('requests')).toContain(`| ${kind}`);
  });

  it('has none that somebody typed', () => {
    const prose = blockNames.reduce((text, name) => text.replace(blockOf(name), ''), page);
    expect(prose.match(/\d+(?:\.\d+)? ?(?:ms|µs|s|%|bytes|[kKMGT]i?B|\/s)(?!\w)/g)).toBeNull();
  });

  it('takes new figures, as often as they are measured', () => {
    const written = withFigures(page, figures);
    expect(withFigures(written, figures)).toBe(written);
    expect(blockOf('machine', written)).toContain('4 processors (a processor), 8 GB of memory, Linux');
    expect(blockOf('requests', written)).toContain('| a kind | 1.5 ms | 0.5 ms | 2,000 | 2,500 | 1,200/s | 20 ms |');
    // Twice the processor time: they are busy for half of the time.
    expect(blockOf('processors', written)).toContain('| a kind | below 0.1 | below 0.1 | 0.2 | 1.0 |');
    expect(blockOf('memory', written)).toContain('| at most, under these loads | 300 MiB | 60 MiB |');
    expect(blockOf('audit', written)).toContain('| another | none | none |');
    expect(blockOf('audit', written)).toContain('A record takes 40 µs of processor time; with the log, the service\nmakes 0.90 of');
    expect(blockOf('years', written)).toBe(
      '| request | 1,000 a day | 10,000 a day | 100,000 a day | 1,000,000 a day |\n|---|---|---|---|---|\n| a kind | 290 MB a year | 2.9 GB a year | 29 GB a year | 290 GB a year |',
    );
    expect(blockOf('state', written)).toContain('| key with its certificate | 1,200 bytes |');
    expect(blockOf('token', written)).toContain('| 20 ms | 8 | 400/s | 390/s | 0.97 | 0.1 ms |');
    expect(blockOf('databases', written)).toContain('| 1 at a time | 1,000/s | 1.3 ms |');
    expect(blockOf('instances', written)).toContain('| 8 at a time | 100/s | 90/s | 180/s | 1.80 |');
    expect(blockOf('instances', withFigures(page, { ...figures, instances: undefined }))).toMatch(/^Not measured: /);
  });

  it('is not written if it lacks a place for some, or has two', () => {
    const mark = beginOf('token');
    for (const wrong of [page.replace(mark, ''), page.replace(mark, `${mark}\n${mark}`)])
      expect(() => withFigures(wrong, figures)).toThrow('no place for "token", or several');
  });
});
