import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { loadTokenConfig } from '../../src/config/config.ts';
import { OwnService } from '../support/own-service.ts';
import { rounds } from '../support/repetitions.ts';
import { signetctl } from '../support/signetctl.ts';

/** `npm run test:long` with more than one round watches for the three minutes in which a wrong PIN would lock a token. */
const watchedSeconds = (rounds ?? 1) > 1 ? 180 : 10;
const refused = { status: 'not ready', faults: { token: expect.stringContaining('the token refused this PIN at') as unknown } };

let service: OwnService;
let configFile: string;
let pinFile: string;
let rightPin: string;
let host: ChildProcess | undefined;

beforeAll(async () => {
  service = await OwnService.start((environment) => {
    ({ configFile } = environment.description());
    const config = parse(readFileSync(configFile, 'utf8')) as { token: { host: string; pin: string } };
    pinFile = config.token.pin.replace(/^file:/, '');
    rightPin = readFileSync(pinFile, 'utf8');
    config.token.host = 'external';
    writeFileSync(configFile, JSON.stringify(config));
    startHost();
  });
}, 300_000);

afterAll(async () => {
  await stopHost();
  await service.remove();
});

/** As the service manager starts it. */
function startHost(): void {
  const { environment } = loadTokenConfig(configFile);
  host = spawn(process.execPath, ['--disable-sigusr1', '--jitless', 'dist/token-host.js', '--config', configFile], {
    env: { PATH: process.env['PATH'], ...environment },
    stdio: 'ignore',
  });
}

async function hostEnded(): Promise<number | null> {
  if (host === undefined) return null;
  if (host.exitCode === null && host.signalCode === null) await once(host, 'exit');
  return host.exitCode;
}

async function stopHost(): Promise<void> {
  host?.kill('SIGTERM');
  await hostEnded();
}

const storePin = (text: string): void => {
  writeFileSync(pinFile, text, { mode: 0o600 });
};

async function health(path: string): Promise<Record<string, unknown>> {
  return (await (await fetch(`${service.opsUrl}/health/${path}`)).json()) as Record<string, unknown>;
}

const ctl = async (...command: string[]): ReturnType<typeof signetctl> => signetctl(['--config', configFile, ...command]);

describe.each(['the first', 'the second'])('a wrong PIN at the start, %s time', () => {
  let pid: unknown;

  it('leaves the daemon waiting, which says why', { timeout: 300_000 }, async () => {
    await service.daemon.stop();
    await stopHost();
    storePin('471100\n');
    startHost();
    expect(await hostEnded()).toBe(77);
    // The first refusal is the token's.
    startHost();
    expect(await hostEnded()).toBe(77);
    const { status, text } = await service.daemon.startAndAsk();
    const said = JSON.parse(text) as Record<string, unknown>;
    expect([status, said]).toEqual([503, expect.objectContaining(refused)]);
    pid = said['pid'];
    expect(await health('live')).toEqual({ status: 'live' });
    expect(await service.post('pki/checkKey', {})).toContain('the service waits for its token');
    const { stdout: shown, stderr: complaint } = await ctl('status');
    expect(complaint).toContain('the token refused this PIN at');
    const verified = /the last (\d+) records are not covered/.exec((await ctl('audit', 'verify')).stderr)?.[1] ?? '1';
    // The last checkpoint covers the records before it, not itself.
    expect(shown).toMatch(new RegExp(`^audit log: +not open yet; last checkpoint 20\\S+Z, ${Number(verified) - 1} records since$`, 'm'));
    const metrics = await (await fetch(`${service.opsUrl}/metrics`)).text();
    for (const line of [
      /^signetd_ready 0\nsignetd_not_ready\{part="token"\} 1$/,
      /^signetd_token_ready 0$/,
      /^signetd_problem_answers_total\{status="503"\} [1-9]/,
      /^signetd_filesystem_avail_bytes\{use="audit"\} /,
      /^signetd_api_certificate_expiry_seconds [1-9]/,
      /^signetd_configured_certificate_expiry_seconds\{/,
    ])
      expect(metrics.replaceAll(/^#.*\n/gm, '').replaceAll('\n\n', '\n')).toMatch(new RegExp(line.source, 'm'));
    const list = await ctl('client', 'list');
    expect([list.status, list.stderr]).toEqual([5, expect.stringContaining('signetd waits for its token and does nothing else')]);
  });

  it(`waits for ${watchedSeconds} s and longer, whatever starts the host again`, { timeout: 400_000 }, async () => {
    const end = Date.now() + watchedSeconds * 1000;
    while (Date.now() < end) {
      startHost();
      expect(await hostEnded()).toBe(77);
      expect(await health('ready')).toMatchObject({ ...refused, pid });
      await delay(2000);
    }
  });

  it('ends once a host serves, for the next start to go on', { timeout: 120_000 }, async () => {
    storePin(rightPin);
    startHost();
    expect(await service.daemon.ended()).toBe(0);
    await service.daemon.start();
    expect(await health('ready')).toMatchObject({ status: 'ready' });
  });
});

it.each(['once', 'twice'])(
  'names what a host says that cannot start while the daemon serves, and goes on after it, %s',
  { timeout: 120_000 },
  async () => {
    const { pid } = await health('ready');
    await stopHost();
    storePin('471100\n');
    startHost();
    expect(await hostEnded()).toBe(77);
    await expect.poll(async () => health('ready'), { timeout: 10_000 }).toMatchObject({ ...refused, pid });
    storePin(rightPin);
    startHost();
    await service.daemon.ready();
    expect(await health('ready')).toEqual({ status: 'ready', pid });
  },
);
