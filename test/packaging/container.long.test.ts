import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { shellBlocks } from '../docs/shell-blocks.ts';
import { skipNote } from '../support/skip-note.ts';
import { packageOfThisBuild } from './made-package.ts';

const user = 10_001;
const name = `signetd-test-${process.pid}`;
const podman = ['--runtime', 'runc', '--cgroup-manager', 'cgroupfs'];
const programs = ['buildah', 'podman', 'runc', 'mmdebstrap', 'nsenter', 'curl', 'python3'];
const missing = programs.filter((program) => spawnSync(program, ['--version']).error !== undefined);
const reason =
  process.getuid?.() !== 0
    ? 'this takes root'
    : missing.length > 0
      ? `${missing.join(', ')} not installed`
      : existsSync('/sys/fs/cgroup') && readdirSync('/sys/fs/cgroup').length > 0
        ? undefined
        : 'there are no control groups here';
const composer = ['var/podman-compose/bin/podman-compose', 'podman-compose'].find(
  (program) => spawnSync(program, ['--version']).status === 0,
);
const noCompose = reason ?? (composer === undefined ? 'podman-compose is not installed (PyPI)' : undefined);
const directory = mkdtempSync(join(tmpdir(), 'signetd-container-'));
const at = (...parts: string[]): string => join(directory, ...parts);
let image = '';

/** Runs commands of docs/containers.md, with this image, container and directory, and without a network of the machine. */
function follow(commands: string, container = name, made = at('made')): string {
  // The limits that podman sets by itself are above those that a container on a container may set.
  const limits = '--ulimit nofile=4096:4096 --ulimit nproc=4096:4096 --no-healthcheck';
  const prelude = `set -e
podman() {
  case $1 in
    run) shift; command podman ${podman.join(' ')} run ${limits} --network none "$@" ;;
    *) command podman ${podman.join(' ')} "$@" ;;
  esac
}
curl() { nsenter --net="/proc/$(podman inspect --format '{{.State.Pid}}' ${container})/ns/net" curl "$@"; }
`;
  const here = commands
    .replaceAll('/srv/signetd/secrets', at('volume'))
    .replaceAll('/srv/signetd', made)
    .replaceAll('--name signetd', `--name ${name}`)
    .replaceAll('podman exec signetd ', `podman exec ${name} `)
    .replace('--publish 8443:8443', '')
    .replaceAll(/localhost\/signetd:\S+/g, image);
  return execFileSync('sh', ['-c', `${prelude}${here}`], { encoding: 'utf8', cwd: directory, stdio: ['ignore', 'pipe', 'pipe'] });
}

function inContainer(...words: string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync('podman', [...podman, 'exec', name, ...words], { encoding: 'utf8' });
  return { status, output: `${stdout}${stderr}` };
}

const project = `${name}-compose`;
/** The directory of compose.yaml; that of setup is below it, as on the page. */
const composed = at('composed');

/** Runs commands of the page on Compose. */
function compose(commands: string): string {
  const files = `--podman-path ${at('podman')} --file ${composed}/compose.yaml --file ${at('here.yaml')}`;
  const here = commands
    .replaceAll('podman-compose --file /srv/compose.yaml', `${composer} ${files}`)
    .replaceAll('/srv/signetd', join(composed, 'signetd'))
    .replaceAll('/srv/', `${composed}/`);
  return execFileSync('sh', ['-e', '-c', here], {
    encoding: 'utf8',
    env: { ...process.env, SIGNETD_IMAGE: image, COMPOSE_PROJECT_NAME: project },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
}

/** What podman needs where this is a container itself, as for `follow`: its options, and limits of the service. */
function prepareCompose(): void {
  mkdirSync(composed);
  writeFileSync(at('podman'), `#!/bin/sh\nexec podman ${podman.join(' ')} "$@"\n`, { mode: 0o755 });
  const limits = { network_mode: 'none', ulimits: { nofile: 4096, nproc: 4096 }, healthcheck: { disable: true } };
  writeFileSync(at('here.yaml'), JSON.stringify({ services: { signetd: limits } }));
}

let versions = 0;
/** Makes the secrets the present version of a volume, as kubelet does. */
function mountSecrets(mode = 0o440): void {
  const volume = at('volume');
  versions += 1;
  const version = `..2026_11_28_09_00_00.${versions}`;
  if (versions === 1) {
    mkdirSync(volume);
    chownSync(volume, 0, user);
    chmodSync(volume, 0o3777);
    for (const file of readdirSync(at('made/secrets'))) symlinkSync(`..data/${file}`, join(volume, file));
  }
  mkdirSync(join(volume, version), { mode: 0o755 });
  for (const file of readdirSync(at('made/secrets'))) {
    cpSync(at('made/secrets', file), join(volume, version, file));
    chownSync(join(volume, version, file), 0, user);
    chmodSync(join(volume, version, file), mode);
  }
  symlinkSync(version, join(volume, '..data_tmp'));
  renameSync(join(volume, '..data_tmp'), join(volume, '..data'));
  rmSync(join(volume, `..2026_11_28_09_00_00.${versions - 1}`), { recursive: true, force: true });
}

const page = readFileSync('docs/containers.md', 'utf8');
const commands = (heading: string): string[] => shellBlocks(page, heading).map((block) => block.commands);
const [setup = '', run = '', create = '', sign = ''] = commands('A first signature');
const [up = '', register = '', down = ''] = commands('Compose');

beforeAll(() => {
  if (reason !== undefined) return;
  const [build = ''] = commands('The image');
  image = execFileSync('sh', ['-c', build.replace(/\S+\.deb/, packageOfThisBuild())], {
    encoding: 'utf8',
    env: { ...process.env, BASE: process.env['SIGNETD_CONTAINER_BASE'] ?? 'debootstrap', PACKAGES: 'softhsm2' },
  }).trim();
  follow(setup);
  mountSecrets();
}, 600_000);

afterAll(() => {
  if (reason === undefined) spawnSync('podman', [...podman, 'rm', '--force', name]);
  rmSync(directory, { recursive: true, force: true });
});

const Signed = z.object({ result: z.object({ resultMajor: z.literal(0) }) });

describe.skipIf(reason !== undefined)(`the container image${skipNote(reason)}`, () => {
  it('says what it is, and has a health check', () => {
    const text = execFileSync('podman', [...podman, 'image', 'inspect', image], { encoding: 'utf8' });
    expect(text).toContain('"org.opencontainers.image.version": "0.');
    expect(text).toContain('"org.opencontainers.image.licenses": "Apache-2.0"');
    expect(text).toContain('/usr/local/bin/signetd-probe');
  });

  it('is set up once in a directory, and not by root', () => {
    expect(() => follow(setup)).toThrow('not empty, and setup overwrites nothing');
    expect(() =>
      follow(setup.replace('--read-only', '--read-only --user 0:0').replace('--container /setup', '--container /tmp/new')),
    ).toThrow('is run as the user of the container (10001)');
  });

  it('leaves nothing of a setup that fails', () => {
    mkdirSync(at('failed'));
    chownSync(at('failed'), user, user);
    const failing = setup.replaceAll('/srv/signetd', at('failed')).replace('--host signetd.example.org', '--host signetd --label ""');
    expect(() => follow(failing)).toThrow('--label takes');
    const wrong = setup
      .replaceAll('/srv/signetd', at('failed'))
      .replace("--organization 'Example Bank'", "--organization 'A' --server files");
    expect(() => follow(wrong)).toThrow('--server files is not for --container');
    expect(() => follow(wrong.replace('--server files', '--state postgresql'))).toThrow('--state postgresql is not for --container');
    expect(readdirSync(at('failed'))).toEqual([]);
  });

  it.each([1, 2])(
    'signs without privileges, with secrets of Kubernetes and a file system that it cannot write, and stops when told to (round %i)',
    async (round) => {
      follow(run);
      await expect.poll(() => inContainer('signetd-probe', 'ready').output, { timeout: 90_000, interval: 1000 }).toContain('"ready"');
      expect(inContainer('signetd-probe', 'live').status).toBe(0);
      if (round === 1) follow(create);
      expect(Signed.parse(JSON.parse(follow(sign))).result.resultMajor).toBe(0);
      const written = inContainer('sh', '-c', 'id -u; touch /usr/x');
      expect(written.output).toMatch(/^10001\n/);
      expect(written.output).toContain('Read-only file system');

      // A Secret that others can read is refused, the service goes on; the next one is taken.
      for (let rotation = 1; rotation <= 2; rotation += 1) {
        mountSecrets(0o444);
        expect(inContainer('signetctl', 'reload').output).toContain('others may read this file');
        expect(inContainer('signetd-probe', 'ready').status).toBe(0);
        mountSecrets();
        expect(inContainer('signetctl', 'reload')).toMatchObject({ status: 0 });
      }
      expect(Signed.parse(JSON.parse(follow(sign))).result.resultMajor).toBe(0);

      expect(spawnSync('podman', [...podman, 'stop', '--time', '40', name]).status).toBe(0);
      const state = execFileSync('podman', [...podman, 'inspect', '--format', '{{.State.ExitCode}}', name], { encoding: 'utf8' });
      expect(state.trim()).toBe('0');
      execFileSync('podman', [...podman, 'rm', name]);
    },
    180_000,
  );
});

describe.skipIf(noCompose !== undefined)(`the container by Compose${skipNote(noCompose)}`, () => {
  const container = `${project}_signetd_1`;
  const inIt = (block: string): string => follow(block, container, join(composed, 'signetd'));

  const lastRecord = (): unknown => {
    const log = join(composed, 'signetd/log/audit');
    const newest = readdirSync(log)
      .filter((file) => file.endsWith('.jsonl'))
      .toSorted()
      .at(-1);
    return JSON.parse(
      readFileSync(join(log, newest ?? ''), 'utf8')
        .trimEnd()
        .split('\n')
        .at(-1) ?? '',
    );
  };

  beforeAll(() => {
    if (noCompose !== undefined) return;
    prepareCompose();
    inIt(setup);
  }, 60_000);

  afterAll(() => {
    if (noCompose === undefined) spawnSync('podman', [...podman, 'rm', '--force', container]);
  });

  it('signs without privileges, drains when it goes down, and signs again after the next start', async () => {
    const [ready = '', ...others] = register.split(/^(?=podman-compose)/m);
    for (const round of [1, 2]) {
      compose(up);
      await expect
        .poll(() => spawnSync('podman', [...podman, 'exec', container, 'signetd-probe', 'ready'], { encoding: 'utf8' }).stdout, {
          timeout: 90_000,
          interval: 1000,
        })
        .toContain('"ready"');
      expect(compose(ready)).toContain('"ready"');
      if (round === 1) {
        compose(others.join(''));
        inIt(create.slice(create.indexOf('cat >create.json')));
      }
      expect(Signed.parse(JSON.parse(inIt(sign))).result.resultMajor).toBe(0);
      const format = '{{.HostConfig.ReadonlyRootfs}} {{.Config.User}} {{.HostConfig.SecurityOpt}} {{.EffectiveCaps}}';
      const inspected = execFileSync('podman', [...podman, 'inspect', '--format', format, container], { encoding: 'utf8' });
      expect(inspected.trim()).toBe('true 10001:10001 [no-new-privileges] []');
      compose(down);
      expect(spawnSync('podman', [...podman, 'inspect', container]).status).not.toBe(0);
      // A daemon that was killed has no last checkpoint.
      expect(lastRecord()).toMatchObject({ kind: 'checkpoint' });
    }
  }, 240_000);
});
