import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import { shellBlocks } from '../docs/shell-blocks.ts';
import { withoutNeighbours } from '../support/installed-material.ts';
import { Load } from '../support/load.ts';
import { quickstartEnvironment } from '../support/quickstart-environment.ts';
import { skipNote } from '../support/skip-note.ts';
import { packageOfThisBuild } from './made-package.ts';

const user = '10001';
const name = `signetd-test-${process.pid}`;
const podman = ['--runtime', 'runc', '--cgroup-manager', 'cgroupfs'];
const missing = ['buildah', 'podman', 'runc', 'mmdebstrap'].filter((program) => spawnSync(program, ['--version']).error !== undefined);
const reason = process.getuid?.() !== 0 ? 'this takes root' : missing.length > 0 ? `${missing.join(', ')} not installed` : undefined;
const directory = mkdtempSync(join(tmpdir(), 'signetd-container-'));
const environment = quickstartEnvironment();
let container: ChildProcess | undefined;

/** The directories that docs/installation.md mounts, with the material of a quickstart. */
function writeVolumes(): void {
  const { configFile } = environment.description();
  for (const place of ['etc', 'secrets', 'state', 'log']) mkdirSync(join(directory, place));
  for (const place of ['tls', 'pki', '2d-doc'])
    cpSync(join(environment.directory, place), join(directory, 'etc', place), { recursive: true });
  cpSync(join(environment.directory, 'token/pin'), join(directory, 'secrets/pin'));
  cpSync(join(environment.directory, 'tls/server.key'), join(directory, 'secrets/tls-key'));
  cpSync(join(environment.directory, 'state.sqlite'), join(directory, 'state/state.sqlite'));
  cpSync(join(environment.directory, 'audit'), join(directory, 'log/audit'), { recursive: true });
  cpSync(join(environment.directory, 'token/tokens'), join(directory, 'state/tokens'), { recursive: true });
  writeFileSync(join(directory, 'etc/softhsm2.conf'), 'directories.tokendir = /var/lib/signetd/tokens\nobjectstore.backend = file\n');
  writeFileSync(
    join(directory, 'etc/signetd.yaml'),
    configured(readFileSync(configFile, 'utf8').replaceAll(environment.directory, '/etc/signetd')),
  );
  execFileSync('chown', ['-R', `${user}:${user}`, directory]);
  for (const secret of ['pin', 'tls-key']) chmodSync(join(directory, 'secrets', secret), 0o600);
}

function configured(text: string): string {
  const { listeners, certificateAuthorities, tenants, token } = parse(text) as Record<string, Record<string, Record<string, unknown>>>;
  return stringify({
    listeners: { api: { ...listeners?.['api'], key: '/run/secrets/tls-key' }, operations: listeners?.['operations'] },
    token: {
      ...{
        profile: 'softhsm2',
        label: token?.['label'],
        pin: 'file:/run/secrets/pin',
        host: 'spawn',
        socketPath: '/run/signetd/token.sock',
      },
      ...{ accountDirectory: '/var/lib/signetd/account', environment: { SOFTHSM2_CONF: '/etc/signetd/softhsm2.conf' } },
    },
    certificateAuthorities,
    tenants: withoutNeighbours(tenants ?? {}),
  });
}

beforeAll(() => {
  if (reason !== undefined) return;
  environment.prepare();
  writeVolumes();
  const base = process.env['SIGNETD_CONTAINER_BASE'] ?? 'debootstrap';
  const [build, run] = shellBlocks(readFileSync('docs/installation.md', 'utf8'), 'Container');
  const image = execFileSync('sh', ['-c', build?.commands.replace(/\S+\.deb/, packageOfThisBuild()) ?? ''], {
    encoding: 'utf8',
    env: { ...process.env, BASE: base },
  }).trim();
  // The limits that podman sets by itself are above those that a container on a container may set.
  const limits = ['--ulimit', 'nofile=4096:4096', '--ulimit', 'nproc=4096:4096'];
  const softhsm = ['/usr/lib/softhsm/libsofthsm2.so', '/usr/lib/x86_64-linux-gnu/libcrypto.so.3'].map(
    (path) => `${realpathSync(path)}:${path}:ro`,
  );
  const mounts = softhsm.flatMap((volume) => ['--volume', volume]);
  const own = ['podman', ...podman, 'run', '--rm', '--network=host', ...limits, ...mounts].join(' ');
  const command = (run?.commands ?? '')
    .replace('podman run', own)
    .replace('--name signetd', `--name ${name}`)
    .replaceAll('/srv/signetd/', `${directory}/`)
    // The network is the machine's.
    .replace('--publish 8443:8443', '')
    .replace(/localhost\/\S+/, image);
  container = spawn('sh', ['-c', `exec ${command}`], { stdio: ['ignore', 'ignore', 'ignore'] });
}, 600_000);

afterAll(() => {
  if (reason === undefined) spawnSync('podman', [...podman, 'rm', '--force', name]);
  container?.kill();
  rmSync(directory, { recursive: true, force: true });
  if (reason === undefined) environment.remove();
});

describe.skipIf(reason !== undefined)(`the container image${skipNote(reason)}`, () => {
  it('signs without privileges and with a file system that it cannot write', async () => {
    const { opsUrl, caCertificate, clients, baseUrl, signRoot } = environment.description();
    await expect
      .poll(() => spawnSync('curl', ['--silent', `${opsUrl}/health/ready`], { encoding: 'utf8' }).stdout, { timeout: 90_000 })
      .toContain('"ready"');
    const client = clients['other'];
    if (client === undefined) throw new Error('no client');
    const load = new Load({ url: `${baseUrl}${signRoot}`, ca: caCertificate, ...client, callers: 2, pauseMs: 20 });
    await load.busy();
    expect((await load.end()).failures).toEqual([]);
    const written = spawnSync('podman', [...podman, 'exec', name, 'sh', '-c', 'id -u; touch /usr/x'], { encoding: 'utf8' });
    expect(written.stdout.trim()).toBe(user);
    expect(written.stderr).toContain('Read-only file system');
  });

  it('stops when it is told to, after it has answered', () => {
    const { status } = spawnSync('podman', [...podman, 'stop', '--time', '40', name]);
    expect(status).toBe(0);
  });
});
