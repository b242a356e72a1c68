import { randomUUID } from 'node:crypto';
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { auditFileForm } from '../../src/audit/file-names.ts';
import { chainedLine, entryBody, lineHash } from '../../src/audit/line.ts';
import { loadConfig } from '../../src/config/config.ts';
import { OwnService } from '../support/own-service.ts';
import { rounds } from '../support/repetitions.ts';
import { signetctl } from '../support/signetctl.ts';

const hourMs = 3_600_000;
/** `npm run test:long` with more than one round watches for three minutes. */
const watchedSeconds = (rounds ?? 1) > 1 ? 180 : 5;
let service: OwnService;
let configFile: string;
let directory: string;

beforeAll(async () => {
  service = await OwnService.start((environment) => {
    ({ configFile } = environment.description());
  });
  ({ directory } = loadConfig(configFile).audit);
}, 300_000);

afterAll(async () => {
  await service.remove();
});

const newestFile = (): string =>
  join(
    directory,
    readdirSync(directory)
      .filter((name) => auditFileForm.test(name))
      .toSorted()
      .at(-1) ?? '',
  );
const lines = (): string[] => readFileSync(newestFile(), 'utf8').trimEnd().split('\n');
const ctl = async (...command: string[]): ReturnType<typeof signetctl> => signetctl(['--config', configFile, ...command]);

async function health(): Promise<Record<string, unknown>> {
  return (await (await fetch(`${service.opsUrl}/health/ready`)).json()) as Record<string, unknown>;
}

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`${service.opsUrl}/metrics`)).text();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

/** Adds a record to the log that is written while the clock is ahead, as the service writes it. */
function recordOfTheFuture(aheadMs: number): void {
  const last = lines().at(-1) ?? '';
  const { n } = JSON.parse(last) as { n: number };
  const body = entryBody({ kind: 'administration', request: randomUUID(), command: 'SIGHUP' });
  const time = new Date(Date.now() + aheadMs).toISOString();
  appendFileSync(newestFile(), `${chainedLine({ n, hash: lineHash(last) }, time, body)}\n`);
}

describe.each(['the first', 'the second'])('a clock that is behind the audit log, %s time', () => {
  it('keeps the service from becoming ready, which says why and writes nothing', { timeout: 400_000 }, async () => {
    await service.daemon.stop();
    recordOfTheFuture(2 * hourMs);
    const before = lines().length;
    const { status, text } = await service.daemon.startAndAsk();
    expect([status, text]).toEqual([503, expect.stringMatching(/"clock":"the clock shows .* signetctl clock confirm"/)]);
    await delay(watchedSeconds * 1000);
    expect(await health()).toMatchObject({ status: 'not ready' });
    expect(lines()).toHaveLength(before);
    expect(await metric('signetd_clock_behind_seconds')).toBeGreaterThan(7000 - watchedSeconds);
    expect(await service.post('pki/checkKey', {})).toContain('the service waits for the right time');
    expect((await ctl('status')).stderr).toContain('signetctl clock confirm');
    expect((await ctl('doctor')).stdout).toMatch(/fault +service +it waits: the clock shows /);
    const list = await ctl('client', 'list');
    expect([list.status, list.stderr]).toEqual([5, expect.stringContaining('waits for the right time and does nothing else')]);
  });

  it('is confirmed by an operator, which is recorded, and the next start goes on', { timeout: 120_000 }, async () => {
    const { status, stdout } = await ctl('clock', 'confirm');
    expect([status, stdout]).toEqual([0, expect.stringContaining('the clock is taken to be right')]);
    expect(await service.daemon.ended()).toBe(0);
    await service.daemon.start();
    expect(await metric('signetd_clock_behind_seconds')).toBe(0);
    const confirmed = lines().filter((line) => line.includes('"command":"clock confirm"'));
    expect(confirmed.at(-1)).toMatch(/"uid":\d+,.*"newestRecord":"/);
    await service.daemon.stop();
    await service.daemon.start();
    const again = await ctl('clock', 'confirm');
    expect([again.status, again.stderr]).toEqual([5, expect.stringContaining('does not wait for its clock')]);
  });
});

it('goes on by itself once the clock is right', { timeout: 120_000 }, async () => {
  await service.daemon.stop();
  recordOfTheFuture(hourMs + 6000);
  expect((await service.daemon.startAndAsk()).status).toBe(503);
  expect(await service.daemon.ended()).toBe(0);
  await service.daemon.start();
});

it('does not matter by less than an hour; health and metrics tell', { timeout: 120_000 }, async () => {
  await service.daemon.stop();
  recordOfTheFuture(hourMs / 2);
  await service.daemon.start();
  expect(await health()).toMatchObject({
    status: 'ready',
    warnings: { clock: expect.stringContaining('the clock was set back') as unknown },
  });
  expect(await metric('signetd_clock_behind_seconds')).toBeGreaterThan(1700);
  expect(await metric('signetd_filesystem_size_bytes{use="audit"}'.replaceAll(/[{}"]/g, String.raw`\$&`))).toBeGreaterThan(0);
});
