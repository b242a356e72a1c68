import { mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { auditFileForm } from '../../src/audit/file-names.ts';
import { loadConfig } from '../../src/config/config.ts';
import { accountDirectoryOf } from '../../src/config/token-config.ts';
import { OwnService } from '../support/own-service.ts';

const runtime = mkdtempSync(join(tmpdir(), 'signetd-runtime-'));
const approvalSocketPath = join(tmpdir(), 'approvals.sock');
let service: OwnService;
let configFile: string;

beforeAll(async () => {
  service = await OwnService.start((environment) => {
    ({ configFile } = environment.description());
  });
  await service.daemon.stop();
}, 300_000);

afterAll(async () => {
  await service.remove();
  rmSync(runtime, { recursive: true, force: true });
});

/** Starts the daemon as the service manager does, and waits for its end. */
function started(): { readonly status: number | null; readonly stderr: string } {
  const { status, stderr } = spawnSync(process.execPath, ['--disable-sigusr1', 'dist/main.js', '--config', configFile], {
    encoding: 'utf8',
    env: { PATH: process.env['PATH'], RUNTIME_DIRECTORY: runtime },
    timeout: 60_000,
  });
  return { status, stderr };
}

/** The audit log and the token host's account, both of which grow by each use of a key. */
function traces(): string {
  const config = loadConfig(configFile);
  return [config.audit.directory, accountDirectoryOf(config.token)]
    .flatMap((directory) =>
      readdirSync(directory)
        .filter((name) => auditFileForm.test(name) || name.endsWith('.jsonl'))
        .map((name) => readFileSync(join(directory, name), 'latin1')),
    )
    .join('');
}

/** The start with a changed configuration, which is put back afterwards. */
function startedWith(change: (config: Record<string, Record<string, unknown>>) => void): ReturnType<typeof started> {
  const text = readFileSync(configFile, 'utf8');
  const config = parse(text) as Record<string, Record<string, unknown>>;
  change(config);
  writeFileSync(configFile, stringify(config));
  try {
    return started();
  } finally {
    writeFileSync(configFile, text);
  }
}

describe('a start that fails for a file of the configuration', () => {
  it.each<[string, (config: Record<string, Record<string, unknown>>) => void, string]>([
    [
      'TLS key that is not there',
      ({ listeners }) => Object.assign(listeners?.['api'] ?? {}, { key: 'file:/nowhere/server.key' }),
      'listeners.api: /nowhere/server.key: there is no such file',
    ],
    [
      'certificate of a CA that is not there',
      ({ certificateAuthorities }) =>
        Object.assign(Object.values(certificateAuthorities ?? {})[0] ?? {}, { certificate: '/nowhere/ca.pem' }),
      'certificateAuthorities.',
    ],
    [
      'trust anchor that is not there',
      (config) => (config['timeStamps'] = { ...config['timeStamps'], anchors: ['/nowhere/anchor.pem'] }),
      'timeStamps.anchors: ENOENT',
    ],
    [
      'group that does not exist',
      (config) => (config['admin'] = { ...config['admin'], access: 'group', group: 'nobodys-group' }),
      'admin.group: there is no group',
    ],
    [
      'group of approvers that does not exist',
      (config) => (config['admin'] = { ...config['admin'], approvals: 2, approvers: 'nobodys-group', approvalSocketPath }),
      'admin.approvers: there is no group',
    ],
    [
      'group of approvers that gives the commands too',
      (config) =>
        (config['admin'] = { ...config['admin'], access: 'group', group: 'daemon', approvals: 2, approvers: 'daemon', approvalSocketPath }),
      'admin.approvers: must be another group than admin.group',
    ],
  ])('ends at once with exit code 78 and has used nothing: a %s, twice', { timeout: 120_000 }, (_what, change, said) => {
    const before = traces();
    for (const time of ['once', 'twice']) {
      const { status, stderr } = startedWith(change);
      expect([time, status, stderr]).toEqual([time, 78, expect.stringContaining(said)]);
      expect(stderr).toMatch(/^signetd cannot start: /m);
    }
    expect(traces()).toBe(before);
    expect(readdirSync(runtime)).toEqual([]);
  });

  it.each<[string, (config: Record<string, Record<string, unknown>>) => void, RegExp]>([
    [
      'an authority',
      ({ certificateAuthorities }) => Object.assign(Object.values(certificateAuthorities ?? {})[0] ?? {}, { keyId: `49${'7'.repeat(32)}` }),
      /certificateAuthorities\.\w+\.keyId: the token has no such key/,
    ],
    [
      'the time-stamp authority',
      ({ timeStampAuthority }) => Object.assign(timeStampAuthority ?? {}, { keyId: `54${'7'.repeat(32)}` }),
      /timeStampAuthority\.keyId: the token has no such key/,
    ],
  ])(
    'ends with exit code 78 where the token lacks the key of %s, and leaves no record, twice',
    { timeout: 120_000 },
    (_whose, change, said) => {
      const log = loadConfig(configFile).audit.directory;
      const records = (): string =>
        readdirSync(log)
          .filter((name) => auditFileForm.test(name))
          .map((name) => readFileSync(join(log, name), 'latin1'))
          .join('');
      const before = records();
      for (const time of ['once', 'twice']) {
        const { status, stderr } = startedWith(change);
        expect([time, status, stderr]).toEqual([time, 78, expect.stringMatching(said)]);
      }
      expect(records()).toBe(before);
    },
  );

  it('names all of its faults at once', { timeout: 60_000 }, () => {
    const { stderr } = startedWith((config) => {
      Object.assign(config['listeners']?.['api'] ?? {}, { key: '/nowhere/server.key' });
      config['timeStamps'] = { ...config['timeStamps'], anchors: ['/nowhere/anchor.pem'] };
    });
    expect(stderr).toMatch(/listeners\.api: [^\n]*\ntimeStamps\.anchors: /);
  });
});

it.each<[string, Record<string, unknown>]>([
  ['the socket of signetctl', { socketPath: '/nowhere/admin.sock' }],
  ['the socket for approvals', { approvals: 2, approvers: 'nogroup', approvalSocketPath: '/nowhere/approvals.sock' }],
])('a start that cannot make %s ends with exit code 1 and has used nothing', { timeout: 120_000 }, (_which, admin) => {
  const before = traces();
  for (const time of ['once', 'twice']) {
    const { status, stderr } = startedWith((config) => (config['admin'] = { ...config['admin'], ...admin }));
    expect([time, status, stderr]).toEqual([
      time,
      1,
      expect.stringMatching(/admin\.\w+Path: no socket can be made in this directory: ENOENT/),
    ]);
  }
  expect(traces()).toBe(before);
  rmSync(join(runtime, 'failed-starts'));
});

it.each(['once', 'twice'])(
  'a start that fails otherwise is told at once the first time, and waits the next time, %s',
  { timeout: 120_000 },
  async () => {
    const { directory } = loadConfig(configFile).audit;
    renameSync(directory, `${directory}.aside`);
    writeFileSync(directory, '');
    try {
      const first = Date.now();
      expect(started()).toMatchObject({ status: 1, stderr: expect.stringContaining('signetd cannot start: ') as unknown });
      const second = Date.now();
      expect(started()).toMatchObject({ status: 1 });
      expect(Date.now() - second).toBeGreaterThanOrEqual(2000);
      expect(second - first).toBeLessThan(30_000);
    } finally {
      rmSync(directory);
      renameSync(`${directory}.aside`, directory);
    }
    await service.daemon.start();
    await service.daemon.stop();
    // A start outside of the unit does not count, and removes no count of the unit.
    rmSync(join(runtime, 'failed-starts'));
  },
);
