import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { noSmallDisk, SmallDisk } from '../audit/small-disk.ts';
import { OwnService } from '../support/own-service.ts';
import { signetctl, type CommandRun } from '../support/signetctl.ts';
import { skipNote } from '../support/skip-note.ts';

let service: OwnService;
let configFile: string;
let original: string;
let daemon: ChildProcess | undefined;

beforeAll(async () => {
  service = await OwnService.start((environment) => {
    ({ configFile } = environment.description());
    original = readFileSync(configFile, 'utf8');
  });
  await service.daemon.stop();
}, 300_000);

afterEach(async () => {
  await stopped();
  writeFileSync(configFile, original);
});

afterAll(async () => {
  await service.remove();
});

interface Configured {
  readonly admin: { readonly socketPath: string };
  readonly state: { path: string };
  readonly listeners: { readonly api: { host: string } };
}

function configure(change: (config: Configured) => void): void {
  const config = parse(original) as Configured;
  change(config);
  writeFileSync(configFile, stringify(config));
}

const runtimeDirectory = (): string => dirname((parse(original) as Configured).admin.socketPath);
const failedStarts = (): string => join(runtimeDirectory(), 'failed-starts');

/** As the service manager starts it. */
function start(): ChildProcess {
  daemon = spawn(process.execPath, ['--disable-sigusr1', 'dist/main.js', '--config', configFile], {
    env: { PATH: process.env['PATH'], RUNTIME_DIRECTORY: runtimeDirectory() },
    stdio: 'ignore',
  });
  return daemon;
}

async function stopped(): Promise<void> {
  if (daemon !== undefined && daemon.exitCode === null && daemon.signalCode === null) {
    daemon.kill('SIGTERM');
    await once(daemon, 'exit');
  }
  daemon = undefined;
}

const ops = async (path: string): Promise<string> => (await fetch(`${service.opsUrl}${path}`)).text();
const ctl = async (...command: string[]): Promise<CommandRun> => signetctl(['--config', configFile, ...command]);

/** Waits until the daemon has said that it is not ready. */
async function notReady(part: string): Promise<void> {
  await expect.poll(async () => ops('/health/ready').catch(() => ''), { timeout: 60_000 }).toContain(`"${part}"`);
}

async function expectMetricsOf(part: string): Promise<void> {
  expect(await service.post('pki/checkKey', {})).toContain('"status":503');
  const text = await ops('/metrics');
  expect(text.match(/^signetd_(?:ready|not_ready).*$/gm)).toEqual(['signetd_ready 0', `signetd_not_ready{part="${part}"} 1`]);
  for (const line of [
    /^signetd_problem_answers_total\{status="503"\} [1-9]\d*$/m,
    /^signetd_filesystem_avail_bytes\{use="state"\} \d+$/m,
    /^signetd_filesystem_size_bytes\{use="audit"\} [1-9]\d+$/m,
    /^signetd_api_certificate_expiry_seconds [1-9]\d+$/m,
    /^signetd_configured_certificate_expiry_seconds\{member="listeners\.api\.clientCertificateAuthority",file="[^"]+"\} [1-9]\d+$/m,
    /^signetd_authority_certificate_expiry_seconds\{authority="issuing"\} [1-9]\d+$/m,
    /^signetd_time_stamp_authority_certificate_expiry_seconds [1-9]\d+$/m,
    /^signetd_build_info\{/m,
  ])
    expect(text).toMatch(line);
}

describe.each(['once', 'twice'])('a service that cannot be ready, %s', () => {
  it.skipIf(noSmallDisk !== undefined)(
    `since its SQLite is on a full disk: metrics, signetctl and the log say so${skipNote(noSmallDisk)}`,
    { timeout: 240_000 },
    async () => {
      const disk = new SmallDisk(8 * 1024 * 1024);
      const path = join(disk.directory, 'state.sqlite');
      copyFileSync((parse(original) as Configured).state.path, path);
      configure(({ state }) => (state.path = path));
      disk.fill();
      const full = `${path}: disk I/O error: the disk of ${disk.directory} is full, with 0 KiB left: free space on it`;
      try {
        // The first failure is told at once.
        const first = start();
        if (first.exitCode === null) await once(first, 'exit');
        expect(first.exitCode).toBe(1);
        expect((await ctl('status')).stderr).toBe(
          `signetctl: signetd cannot start, and tries again by itself: ${full}; the next attempt is due now\n`,
        );
        // As after many.
        writeFileSync(failedStarts(), JSON.stringify({ ...(JSON.parse(readFileSync(failedStarts(), 'utf8')) as object), starts: 9 }));
        start();
        await notReady('start');
        await expectMetricsOf('start');
        const { status, stderr } = await ctl('status');
        expect([status, stderr]).toEqual([
          6,
          expect.stringMatching(/^signetctl: signetd cannot start, and tries again by itself: .*; the next attempt is at 20\S+Z\n$/),
        ]);
        expect(stderr).toContain(full);
        // For those who may not read the file, the daemon says it.
        writeFileSync(failedStarts(), '');
        expect((await ctl('status')).stderr).toBe(
          stderr.replace(/at 20\S+Z/, (JSON.parse(await ops('/health/ready')) as { faults: { start: string } }).faults.start.slice(-27)),
        );
        const verified = await ctl('audit', 'verify');
        expect([verified.status, verified.stderr]).toEqual([5, `signetctl: the state store cannot be opened: ${full}\n`]);
        // Whoever stops it has it start at once.
        await stopped();
        expect(existsSync(failedStarts())).toBe(false);
        expect((await ctl('status')).stderr).toContain('start it first');
      } finally {
        await stopped();
        disk.remove();
      }
    },
  );

  it('since its state store is not that of the log: metrics and signetctl say so', { timeout: 240_000 }, async () => {
    const { path } = (parse(original) as Configured).state;
    const files = ['', '-wal', '-shm'].map((end) => `${path}${end}`).filter((file) => existsSync(file));
    for (const file of files) renameSync(file, `${file}.aside`);
    configure(({ listeners }) => (listeners.api.host = 'localhost'));
    try {
      start();
      await notReady('stateAge');
      await expectMetricsOf('stateAge');
      const { stdout } = await ctl('status');
      expect(stdout).toMatch(/^API: +https:\/\/(?:127\.0\.0\.1|\[::1\]):\d+$/m);
      expect(stdout).toMatch(/^audit log: +not open yet; last checkpoint 20\S+Z, \d+ records since$/m);
    } finally {
      await stopped();
      for (const file of ['', '-wal', '-shm'].map((end) => `${path}${end}`)) rmSync(file, { force: true });
      for (const file of files) renameSync(`${file}.aside`, file);
    }
  });

  it('has no failed start that is tried again where its configuration is at fault', { timeout: 120_000 }, async () => {
    writeFileSync(failedStarts(), JSON.stringify({ starts: 3, reason: 'a full disk', at: new Date().toISOString() }));
    expect((await ctl('status')).stderr).toContain('signetd cannot start, and tries again by itself: a full disk');
    writeFileSync(configFile, `${original}\nnonsense: 1\n`);
    const child = start();
    if (child.exitCode === null) await once(child, 'exit');
    expect(child.exitCode).toBe(78);
    expect(existsSync(failedStarts())).toBe(false);
  });
});
