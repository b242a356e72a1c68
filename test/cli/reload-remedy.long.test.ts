import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { OwnService } from '../support/own-service.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import type { CommandRun } from '../support/signetctl.ts';

interface Configured {
  readonly listeners: { public?: object | undefined; readonly api: Record<string, unknown> };
  readonly tenants: Record<string, { limits?: object }>;
  log?: object;
}

let service: OwnService;
let configFile: string;
let original: string;
let added: object | undefined;

beforeAll(async () => {
  service = await OwnService.start((environment) => {
    ({ configFile } = environment.description());
    const config = parse(readFileSync(configFile, 'utf8')) as Configured;
    // Added after the set-up.
    added = config.listeners.public;
    delete config.listeners.public;
    const { demo } = config.tenants;
    if (demo !== undefined) demo.limits = { requestsMax: 40, clients: { demo: { requestsPerSecond: 7 } } };
    original = stringify(config);
    writeFileSync(configFile, original);
  });
}, 300_000);

afterAll(async () => {
  await service.remove();
});

const ctl = async (...command: string[]): Promise<CommandRun> => signetctlHere(['--config', configFile, ...command]);

function configure(change: (config: Configured) => void): void {
  const config = parse(original) as Configured;
  change(config);
  writeFileSync(configFile, stringify(config));
}

/** What `status` and `doctor` say of the configuration that is not loaded. */
async function said(): Promise<{ readonly status: string; readonly doctor: string }> {
  const { stderr } = await ctl('status');
  const { stdout } = await ctl('doctor');
  return {
    status: stderr.split('\n').find((line) => line.includes('not loaded yet')) ?? '',
    doctor: stdout.split('\n').find((line) => / service +/.test(line)) ?? '',
  };
}

const restart = 'restart signetd, since a reload cannot change listeners.public';

describe.each(['once', 'twice'])('after a change of the configuration, %s', () => {
  it('that a reload cannot make, status and doctor say that it takes a restart', async () => {
    configure((config) => (config.listeners.public = added));
    const before = await said();
    expect(before.status).toMatch(new RegExp(`not loaded yet: listeners\\.public.*; ${restart}`));
    expect(before.doctor).toMatch(new RegExp(`differs from the file .*: ${restart}`));
    expect((await ctl('reload')).stderr).toContain('listeners.public: this cannot change while signetd runs; restart it');
    const after = await said();
    expect(after.status).toBe(before.status);
    expect(after.doctor).toMatch(new RegExp(`^fault.* the last reload was refused: .*; ${restart}`));
    expect(after.doctor).not.toMatch(/signetctl reload|fix the configuration/);
  });

  it('that a reload can make, they say so, also after a refused one', async () => {
    configure((config) => (config.log = { level: 'debug' }));
    const { status, doctor } = await said();
    expect(status).toMatch(/not loaded yet: log\.level; run signetctl reload$/);
    expect(doctor).toMatch(/the last reload was refused: .*; run signetctl reload$/);
    expect((await ctl('reload')).status).toBe(0);
    writeFileSync(configFile, original);
    expect((await said()).doctor).toMatch(/differs from the file \(log\.level\): run signetctl reload$/);
    expect((await ctl('reload')).status).toBe(0);
  });

  it('that is faulty, doctor has it fixed first', async () => {
    configure(({ listeners }) => (listeners.api['key'] = 'file:/nowhere/server.key'));
    expect((await ctl('reload')).status).not.toBe(0);
    writeFileSync(configFile, original);
    expect((await said()).doctor).toMatch(/fix the configuration, then run signetctl reload$/);
    expect((await ctl('reload')).status).toBe(0);
  });
});

it('status shows the limits of each client that has its own', async () => {
  const { stdout } = await ctl('status');
  expect(stdout).toMatch(
    /^limits of demo: +no rate of its own, 40 at a time; demo 7 requests\/s, \d+ at a time; each other client \d+ requests\/s, \d+ at a time$/m,
  );
  expect(stdout).toMatch(/^limits of other: +no rate of its own, \d+ at a time; each client \d+ requests\/s, \d+ at a time$/m);
});
