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

const versionBefore = '0.0.9-1';
const nextStep = /^signetd is installed\. Next: signetctl setup$/gm;
const reason = whyNotInstallable();
const environment = quickstartEnvironment();
const material = mkdtempSync(join(tmpdir(), 'signetd-material-'));
const machine = new BootedSystemd();
/** In the machine. */
const files = { before: '/srv/before.deb', now: '/srv/now.deb' };

beforeAll(async () => {
  if (reason !== undefined) return;
  environment.prepare();
  writeMaterial(environment, material);
  const file = packageOfThisBuild();
  cpSync(file, join(material, 'now.deb'));
  writeWithVersion(file, versionBefore, join(material, 'before.deb'));
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

function load(): Load {
  const { signRoot, clients, caCertificate } = environment.description();
  const client = clients['other'];
  if (client === undefined) throw new Error('no client');
  const url = `https://127.0.0.1:8443${signRoot}`;
  return new Load({ url, ca: caCertificate, ...client, callers: 16, pauseMs: 20 }, machine.inItsNetwork);
}

describe.skipIf(reason !== undefined)(`the package on a booted Debian${skipNote(reason)}`, { timeout: 400_000 }, () => {
  it('installs with apt-get, and starts nothing before it is configured', () => {
    expect(install(files.before).match(nextStep)).toHaveLength(1);
    expect(installedVersion()).toBe(versionBefore);
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

  it('is upgraded from the version before under load without a lost request, and keeps its data', async () => {
    const keysBefore = machine.run('signetctl', 'key', 'list');
    const pids = ['signetd.service', 'signetd-token.service'].map((unit) => machine.property(unit, 'MainPID'));
    const callers = load();
    await callers.busy();
    const output = install(files.now);
    const { requests, failures } = await callers.end();
    expect(failures, output).toEqual([]);
    expect(output).not.toMatch(nextStep);
    expect(requests).toBeGreaterThan(16);
    expect(installedVersion()).not.toBe(versionBefore);
    for (const [index, unit] of ['signetd.service', 'signetd-token.service'].entries()) {
      expect(machine.property(unit, 'StatusText')).toMatch(/^serving/);
      expect(machine.property(unit, 'MainPID')).not.toBe(pids[index]);
    }
    expect(machine.property('signetd-upgrade.service', 'ActiveState')).toBe('inactive');
    expect(machine.try('test', '-e', '/run/signetd-upgrade.units').status).toBe(1);
    for (const key of keysBefore.split('\n').slice(1)) expect(machine.run('signetctl', 'key', 'list')).toContain(key.slice(0, 40));
  });

  it('is removed and installed again with its data', () => {
    aptGet('remove', 'signetd');
    expect(machine.try('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/live').status).not.toBe(0);
    machine.run('test', '-e', '/var/lib/signetd/state.sqlite');
    expect(aptGet('install', files.now)).not.toMatch(nextStep);
    machine.run('systemctl', 'start', 'signetd.service');
    expect(machine.run('curl', '--silent', '--max-time', '5', 'http://127.0.0.1:9443/health/ready')).toContain('"ready"');
  });

  it('is purged without a trace, but for the journal', async () => {
    const listUnits = ['systemctl', 'list-units', '--all', '--plain', '--no-legend', 'signetd*'];
    const output = aptGet('purge', 'signetd');
    expect(output).not.toMatch(/warning|error|cannot|fail/i);
    // Of other tests on the same machine: images of containers.
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
