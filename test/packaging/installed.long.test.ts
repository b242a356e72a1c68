import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { firstBlock } from '../docs/shell-blocks.ts';
import { BootedSystemd, whyNotInstallable } from '../support/booted-systemd.ts';
import { installation, writeMaterial } from '../support/installed-material.ts';
import { Load } from '../support/load.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { skipNote } from '../support/skip-note.ts';
import { packageOfThisBuild, writeWithVersion } from './made-package.ts';

/** Those before this one, in their order. */
const versionsBefore = ['0.0.7-1', '0.0.8-1', '0.0.9-1'] as const;
const nextStep = /^signetd is installed\. Next: signetctl setup$/gm;
const reason = whyNotInstallable();
const environment = quickstartEnvironment();
const material = mkdtempSync(join(tmpdir(), 'signetd-material-'));
const machine = new BootedSystemd();
/** In the machine. */
const fileOf = (version: string): string => `/srv/${version}.deb`;
const now = '/srv/now.deb';

beforeAll(async () => {
  if (reason !== undefined) return;
  environment.prepare();
  writeMaterial(environment, material);
  const file = packageOfThisBuild();
  cpSync(file, join(material, 'now.deb'));
  for (const [version, name] of [
    ['99.0.0-1', 'later'],
    ['99.0.1-1', 'latest'],
  ] as const)
    writeWithVersion(file, version, join(material, `${name}.deb`));
  for (const version of versionsBefore) writeWithVersion(file, version, join(material, `${version}.deb`));
  await machine.bootWithoutSignetd(material);
});

afterAll(async () => {
  await machine.remove();
  rmSync(material, { recursive: true, force: true });
  if (reason === undefined) environment.remove();
});

function aptGet(...command: readonly string[]): string {
  return machine.run('env', 'DEBIAN_FRONTEND=noninteractive', 'apt-get', '--quiet', '--assume-yes', '-o', 'Dpkg::Use-Pty=0', ...command);
}

/** The command of docs/installation.md, with another file. */
function install(file: string): string {
  const commands = firstBlock(readFileSync('docs/installation.md', 'utf8'), 'sh');
  const [program, ...command] = commands
    .trim()
    .replace(/\S+\.deb/, file)
    .split(' ');
  expect(program).toBe('apt-get');
  return aptGet(...command);
}

function installedVersion(): string {
  return machine.run('dpkg-query', '--show', '--showformat', '${Version}', 'signetd');
}

const units = ['signetd-token.service', 'signetd.service'] as const;
const pids = (): string[] => units.map((unit) => machine.property(unit, 'MainPID'));
const ready = (): boolean =>
  machine.try('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/ready').output.includes('"ready"');
const leftOfUpgrades = (): string =>
  machine.run('find', '/usr/lib', '-maxdepth', '1', '-name', '*signetd*', '-not', '-name', 'signetd', '-not', '-name', 'signetd-running');

/** The line of a metric, from its beginning. */
function metric(beginning: string): string {
  const { output } = machine.try('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/metrics');
  return output.split('\n').find((line) => line.startsWith(beginning)) ?? '';
}

function load(): Load {
  const { signRoot, clients, caCertificate } = environment.description();
  const client = clients['other'];
  if (client === undefined) throw new Error('no client');
  const url = `https://127.0.0.1:8443${signRoot}`;
  return new Load({ url, ca: caCertificate, ...client, callers: 16, pauseMs: 20 }, machine.inItsNetwork);
}

describe.skipIf(reason !== undefined)(`the package on a booted Debian${skipNote(reason)}`, { timeout: 400_000 }, () => {
  it('installs with apt-get, and starts nothing before it is configured', () => {
    expect(install(fileOf(versionsBefore[0])).match(nextStep)).toHaveLength(1);
    expect(installedVersion()).toBe(versionsBefore[0]);
    expect(machine.try('systemctl', 'start', 'signetd-api.socket', 'signetd.service').status).toBe(0);
    expect(machine.property('signetd.service', 'ActiveState')).toBe('inactive');
    expect(machine.property('signetd-api.socket', 'ActiveState')).toBe('inactive');
    expect(machine.run('signetctl', '--help')).toContain('Usage: signetctl');
  });

  it('serves under the hardening of its units', () => {
    machine.run('sh', '-c', installation);
    expect(machine.property('signetd.service', 'StatusText')).toBe('serving');
    expect(machine.run('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/ready')).toContain('"ready"');
    expect(machine.run('signetctl', 'status')).toContain('ready');
    // The daemon has no way to other machines, though it accepts their connections.
    expect(machine.property('signetd.service', 'PrivateNetwork')).toBe('yes');
  });

  it('loses no request in a restart under load', async () => {
    const callers = load();
    await callers.busy();
    machine.run('systemctl', 'restart', 'signetd.service');
    const { requests, failures } = await callers.end();
    expect(failures).toEqual([]);
    expect(requests).toBeGreaterThan(16);
  });

  it.each([...versionsBefore.slice(1).map((version) => [version, fileOf(version)]), ['this one', now]])(
    'is upgraded to %s under load without a lost request, and keeps its data',
    async (_version, file) => {
      const keysBefore = machine.run('signetctl', 'key', 'list');
      const before = pids();
      const callers = load();
      await callers.busy();
      const output = install(file);
      const installed = installedVersion();
      await machine.until('it serves', () => metric(`signetd_build_info{version="${installed.replace(/-\d+$/, '')}"`).endsWith(' 1'));
      const { requests, failures, longestMs } = await callers.end();
      console.log(`the longest answer during the upgrade to ${installed} took ${longestMs.toFixed(0)} ms`);
      expect(failures, output).toEqual([]);
      expect(output).not.toMatch(/warning|error|fail/i);
      expect(output).not.toMatch(nextStep);
      expect(requests).toBeGreaterThan(16);
      for (const unit of units) expect(machine.property(unit, 'StatusText')).toMatch(/^serving/);
      for (const pid of pids()) expect(before).not.toContain(pid);
      expect(machine.run('signetctl', 'status')).toContain(`signetd:               ${installed.replace(/-\d+$/, '')}, process`);
      for (const key of keysBefore.split('\n').slice(1)) expect(machine.run('signetctl', 'key', 'list')).toContain(key.slice(0, 40));
      expect(leftOfUpgrades()).toBe('');
    },
  );

  it.each(['once', 'twice'])('starts from the old files if it is killed while they are replaced, %s', async () => {
    const before = pids();
    machine.run('/var/lib/dpkg/info/signetd.prerm', 'upgrade', '99');
    machine.run('sh', '-c', 'mv /usr/lib/signetd /usr/lib/signetd.unpacking && mkdir /usr/lib/signetd');
    machine.run('systemctl', 'kill', '--signal=KILL', ...units);
    await machine.until('it serves again', () => ready() && pids().every((pid) => pid !== '0' && !before.includes(pid)));
    machine.run('sh', '-c', 'rmdir /usr/lib/signetd && mv /usr/lib/signetd.unpacking /usr/lib/signetd');
    const output = machine.run('/var/lib/dpkg/info/signetd.postinst', 'configure', '0.0.9-1');
    expect(output).toBe('');
    await machine.until('it serves the new files', ready);
    expect(leftOfUpgrades()).toBe('');
  });

  it.each(['once', 'twice'])('goes on where an upgrade was ended between its renames, %s', async () => {
    machine.run('sh', '-c', 'cp -al /usr/lib/signetd /usr/lib/signetd.new && mv /usr/lib/signetd /usr/lib/.signetd-before.gone');
    machine.run('/var/lib/dpkg/info/signetd.prerm', 'upgrade', '99');
    machine.run('test', '-x', '/usr/lib/signetd/runtime/node');
    expect(machine.run('/var/lib/dpkg/info/signetd.postinst', 'configure', '0.0.9-1')).toBe('');
    await machine.until('it serves', ready);
    expect(leftOfUpgrades()).toBe('');
  });

  it('starts what an earlier version of the package stopped before its files were replaced', async () => {
    machine.run('sh', '-c', 'echo signetd.service signetd-token.service >/run/signetd-upgrade.units');
    machine.run('systemctl', 'stop', ...units);
    expect(machine.run('/var/lib/dpkg/info/signetd.postinst', 'configure', '0.0.9-1')).toBe('');
    await machine.until('it serves', ready);
    expect(machine.try('test', '-e', '/run/signetd-upgrade.units').status).toBe(1);
  });

  it('says so where the machine forbids restarts, and doctor says that one is due', async () => {
    const forbidding = '/usr/sbin/policy-rc.d';
    machine.run('sh', '-c', `printf '#!/bin/sh\\nexit 101\\n' >${forbidding} && chmod +x ${forbidding}`);
    const before = pids();
    const output = install(fileOf('later'));
    expect(output).toContain('signetd still runs with the version before');
    expect(pids()).toEqual(before);
    expect(ready()).toBe(true);
    expect(machine.try('signetctl', 'doctor').output).toMatch(/process \d+ runs version .+, and 99\.0\.0 is installed: restart/);
    machine.run('rm', forbidding);
    machine.run('systemctl', 'restart', ...units);
    await machine.until('it serves the new version', () => metric('signetd_build_info{version="99.0.0"').endsWith(' 1'));
    expect(install(fileOf('latest'))).not.toMatch(/warning|error|fail/i);
    expect(leftOfUpgrades()).toBe('');
  });

  it('is removed and installed again with its data', () => {
    aptGet('remove', 'signetd');
    expect(machine.try('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/live').status).not.toBe(0);
    machine.run('test', '-e', '/var/lib/signetd/state.sqlite');
    expect(aptGet('install', fileOf('latest'))).not.toMatch(nextStep);
    machine.run('systemctl', 'start', 'signetd.service');
    expect(machine.run('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/ready')).toContain('"ready"');
  });

  it('is purged without a trace, but for the journal', async () => {
    const listUnits = ['systemctl', 'list-units', '--all', '--plain', '--no-legend', 'signetd*'];
    machine.run('sh', '-c', "echo 'signetd signetd/delete-data boolean true' | debconf-set-selections");
    const output = aptGet('purge', 'signetd');
    expect(output).not.toMatch(/warning|error|cannot|fail/i);
    // Of other tests on the same machine: images of containers, and temporary files.
    const left = machine.run(
      'find',
      '/etc',
      '/usr',
      '/var',
      '/run',
      '-xdev',
      '-path',
      '/var/lib/containers',
      '-prune',
      '-o',
      '-path',
      '/var/tmp',
      '-prune',
      '-o',
      '-iname',
      '*signetd*',
      '-print',
    );
    expect(left).toBe('');
    expect(machine.run('sh', '-c', 'getent passwd; getent group')).not.toContain('signetd');
    // systemd forgets units that are gone when it has time.
    await machine.until('systemd has forgotten the units', () => machine.run(...listUnits) === '');
    expect(machine.try('dpkg-query', '--show', 'signetd').status).toBe(1);
  });
});
