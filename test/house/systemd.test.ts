import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { instanceTemplate, instanceUnits, templateName } from '../../packaging/deb/instance-units.ts';
import { nodeFlags } from '../../src/service/node-flags.ts';

const units = [
  'signetd.service',
  'signetd-token.service',
  'signetd-api.socket',
  'signetd-operations.socket',
  'signetd-public.socket',
] as const;
let directory: string;

/** The units name programs of the installed package; here each stands for one that any system has. */
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-units-'));
  for (const unit of units) {
    const text = readFileSync(new URL(`../../systemd/${unit}`, import.meta.url), 'utf8');
    writeFileSync(join(directory, unit), text.replace(/^ExecStart=\S+/gm, 'ExecStart=/bin/true'));
  }
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

function systemdAnalyze(...parameters: string[]): { status: number | null; output: string } {
  const run = spawnSync('systemd-analyze', ['--no-pager', ...parameters], { cwd: directory, encoding: 'utf8', timeout: 30_000 });
  if (run.error !== undefined) throw run.error;
  return { status: run.status, output: run.stdout + run.stderr };
}

test('systemd finds nothing wrong with the units', () => {
  expect(systemdAnalyze('verify', '--man=no', ...units.map((unit) => join(directory, unit)))).toEqual({ status: 0, output: '' });
});

test('systemd finds nothing wrong with the templates for further instances, once they have addresses', () => {
  for (const [index, unit] of instanceUnits.entries()) {
    const text = readFileSync(new URL(`../../systemd/${unit}`, import.meta.url), 'utf8');
    const template = instanceTemplate(text);
    expect(template).not.toMatch(/signetd\.yaml|signetd-(?:api|operations|public)\.socket|=signetd\.service|ListenStream=\d/);
    writeFileSync(join(directory, templateName(unit)), template.replace(/^ExecStart=\S+/gm, 'ExecStart=/bin/true'));
    if (!unit.endsWith('.socket')) continue;
    mkdirSync(join(directory, `${templateName(unit)}.d`));
    writeFileSync(join(directory, `${templateName(unit)}.d`, 'address.conf'), `[Socket]\nListenStream=${18_000 + index}\n`);
  }
  const files = instanceUnits.map((unit) => join(directory, templateName(unit)));
  expect(systemdAnalyze('verify', '--man=no', ...files)).toEqual({ status: 0, output: '' });
});

test('the daemon may ask the kernel for the state of its clock, and has no capability to set it', () => {
  const unit = readFileSync(new URL('../../systemd/signetd.service', import.meta.url), 'utf8');
  // The filter of ProtectClock would forbid what the last SystemCallFilter allows.
  for (const line of ['ProtectClock=no', 'SystemCallFilter=adjtimex clock_adjtime', 'CapabilityBoundingSet=', 'NoNewPrivileges=yes'])
    expect(unit.split('\n')).toContain(line);
});

test('the sockets of the token host have a group that the daemon alone is in, and administration another', () => {
  const linesOf = (file: string): string[] =>
    readFileSync(new URL(`../../systemd/${file}`, import.meta.url), 'utf8')
      .split('\n')
      .map((line) => line.replaceAll(/\s+/g, ' '));
  const accounts = linesOf('sysusers.conf').filter((line) => /^[ugm] /.test(line));
  const members = (group: string): string[] => accounts.filter((line) => line.startsWith('m ') && line.endsWith(` ${group}`));
  expect(members('signetd-token-client')).toEqual(['m signetd signetd-token-client']);
  expect(members('signetd-admin')).toEqual([]);
  expect(accounts).toContainEqual(expect.stringContaining('u signetd-token -:signetd-token-client '));
  expect(linesOf('signetd-token.service')).toEqual(
    expect.arrayContaining(['User=signetd-token', 'Group=signetd-token-client', 'SupplementaryGroups=signetd']),
  );
  expect(linesOf('signetd.service')).toEqual(
    expect.arrayContaining(['User=signetd', 'Group=signetd', 'SupplementaryGroups=signetd-token-client signetd-admin signetd-approvers']),
  );
  // In a namespace of users the kernel would not tell who is at the other end of a socket.
  for (const unit of ['signetd.service', 'signetd-token.service']) expect(linesOf(unit)).toContain('PrivateUsers=no');
});

test('the token host has no network, no device and no compiler; its PIN is a credential, and a refused one is not tried again', () => {
  const lines = readFileSync(new URL('../../systemd/signetd-token.service', import.meta.url), 'utf8').split('\n');
  expect(lines).toEqual(
    expect.arrayContaining([
      ...['PrivateNetwork=yes', 'IPAddressDeny=any', 'RestrictAddressFamilies=AF_UNIX', 'PrivateDevices=yes', 'DevicePolicy=closed'],
      ...['MemoryDenyWriteExecute=yes', 'InaccessiblePaths=-/var/lib/signetd -/var/log/signetd', 'StateDirectoryMode=0700'],
      ...['LoadCredentialEncrypted=pin:signetd.pin', 'RestartPreventExitStatus=69 77 78'],
    ]),
  );
  expect(lines.find((line) => line.startsWith('ExecStart='))).toMatch(/^ExecStart=\S+ --disable-sigusr1 --jitless dist\/token-host\.js /);
});

test('the daemon runs with the same arguments of Node under systemd as in a quickstart', () => {
  const unit = readFileSync(new URL('../../systemd/signetd.service', import.meta.url), 'utf8');
  expect(unit).toContain(`ExecStart=/usr/lib/signetd-running/runtime/node ${nodeFlags.join(' ')} dist/main.js `);
});

test('neither service leaves what it has in memory behind, nor reaches what the other one has', () => {
  for (const [unit, other] of [
    ['signetd.service', '/var/lib/signetd-token'],
    ['signetd-token.service', '/var/lib/signetd'],
  ] as const) {
    const lines = readFileSync(new URL(`../../systemd/${unit}`, import.meta.url), 'utf8').split('\n');
    expect(lines).toContain('LimitCORE=0');
    const hidden = lines.filter((line) => line.startsWith('InaccessiblePaths=')).flatMap((line) => line.replace(/^.*?=/, '').split(' '));
    expect(hidden).toContain(`-${other}`);
  }
});

test('the daemon is not started again after a fault of the configuration, and its sockets go down with it', () => {
  const lines = readFileSync(new URL('../../systemd/signetd.service', import.meta.url), 'utf8').split('\n');
  expect(lines).toContain('RestartPreventExitStatus=69 77 78');
  const stop = lines.find((line) => line.startsWith('ExecStopPost='));
  for (const unit of units.filter((name) => name.endsWith('.socket'))) expect(stop).toContain(` ${unit} `);
});

test('the daemon has no network but the sockets that systemd passes it', () => {
  const lines = readFileSync(new URL('../../systemd/signetd.service', import.meta.url), 'utf8').split('\n');
  expect(lines).toEqual(expect.arrayContaining(['PrivateNetwork=yes', 'IPAddressDeny=any', 'RestrictAddressFamilies=AF_UNIX']));
});

/** Tenths of a point: 9 is an exposure of 0.9. */
test.each([
  ['signetd.service', 9],
  ['signetd-token.service', 4],
] as const)('%s is exposed to at most %d tenths', (unit, threshold) => {
  const { status, output } = systemdAnalyze('security', '--offline=true', `--threshold=${threshold}`, join(directory, unit));
  expect(status, output).toBe(0);
});
