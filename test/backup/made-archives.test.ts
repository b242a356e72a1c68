import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Manifest, Part } from '../../src/backup/manifest.ts';
import { signetctlHere } from '../support/signetctl-here.ts';
import type { CommandRun } from '../support/signetctl.ts';
import {
  archive,
  configurationPart,
  configurationText,
  emptyState,
  encrypted,
  headerOfType,
  manifestOf,
  partOf,
  type Entry,
} from './made-backup.ts';
import { Operator } from './operator.ts';
import { skipNote } from '../support/skip-note.ts';

const notRoot = process.geteuid?.() === 0 ? undefined : 'only root gives files to others';

let operator: Operator;
let state: Awaited<ReturnType<typeof emptyState>>;
let root: string;

beforeAll(async () => {
  operator = new Operator();
  state = await emptyState();
});
afterAll(() => {
  operator.remove();
});
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'signetd-made-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

interface Made {
  /** Configuration in the backup. */
  readonly text?: string;
  /** Further parts, with their content. */
  readonly parts?: readonly (readonly [Part, Uint8Array])[];
  readonly manifest?: Partial<Manifest>;
  /** Entries of the archive before the manifest. */
  readonly entries?: readonly Entry[];
}

/** Makes a backup by hand. Answers its digest. */
async function made({ text = configurationText(), parts = [], manifest = {}, entries = [] }: Made): Promise<string> {
  const path = '/etc/signetd/signetd.yaml';
  const content = Buffer.from(text);
  const all: (readonly [Part, Uint8Array])[] = [
    [configurationPart(path, content), content],
    [partOf('state', 'state/state.sqlite', '/var/lib/signetd/state.sqlite', state.content), state.content],
    ...parts,
  ];
  const said = manifestOf(
    all.map(([part]) => part),
    { state: state.said, ...manifest },
  );
  const last = { name: 'manifest.json', content: Buffer.from(JSON.stringify(said)) };
  return encrypted(
    join(root, 'made.age'),
    operator.recipient,
    archive([...all.map(([part, bytes]) => ({ name: part.name, content: bytes })), ...entries, last]),
  );
}

const restore = async (...more: string[]): Promise<CommandRun> =>
  signetctlHere([
    ...['--config', join(root, 'none', 'deep', 'signetd.yaml'), 'backup', 'restore', join(root, 'made.age')],
    ...['--identity', operator.identity, '--to', join(root, 'to'), ...more],
  ]);

/** Asserts that a restore is refused in words, and has written nothing. */
async function refused(words: string | RegExp, ...more: string[]): Promise<void> {
  const { status, stderr } = await restore(...(more.length === 0 ? ['--any-origin'] : more));
  expect([status, stderr]).toEqual([1, typeof words === 'string' ? expect.stringContaining(words) : expect.stringMatching(words)]);
  expect(stderr).not.toMatch(/internal|undefined|\bat .*\.ts/);
  expect(existsSync(join(root, 'to'))).toBe(false);
}

const named = (path: string): string =>
  configurationText({ more: `clientAuthority: { certificate: ${path}, keyId: "52${'1'.repeat(32)}" }\n` });
const fileAt = (path: string, over: Partial<Part> = {}): Made => ({
  text: named(path.replace('\0', '')),
  parts: [[{ ...configurationPart(path), ...over }, Buffer.from('x')]],
});

describe('a backup of unknown origin', () => {
  it.each([
    '/etc/cron.d/job',
    '/etc/sudoers.d/job',
    '/etc/ssh/sshd_config',
    '/etc/systemd/system/signetd.service.d/job.conf',
    '/etc/ld.so.preload',
    '/home/someone/.ssh/authorized_keys',
    '/usr/local/bin/signetctl',
    '/etc/signetdx/file.pem',
    '/etc/signetd/setup/progress.json',
    '/var/lib/signetd-token/tokens/x',
    '/var/lib/signetd/state.sqlite-wal',
  ])('puts nothing at %s, even if the configuration in it names that', async (path) => {
    await made(fileAt(path));
    await refused(`${path} is no place of signetd: --allow-path`);
  });

  it.each([
    ['state', { text: configurationText({ state: '/etc/cron.d' }) }, '/etc/cron.d/state.sqlite'],
    ['the audit log', { text: configurationText({ audit: '/root' }) }, '/root/audit-00000001.jsonl'],
  ])('puts %s only where it belongs', async (_what, options, path) => {
    const content = Buffer.from('x');
    const isState = path.endsWith('sqlite');
    await made({
      ...options,
      parts: isState ? [] : [[partOf('audit', 'audit/audit-00000001.jsonl', path), content]],
      manifest: {
        parts: [
          configurationPart('/etc/signetd/signetd.yaml', Buffer.from(options.text)),
          ...(isState
            ? [partOf('state', 'state/state.sqlite', path, state.content)]
            : [
                partOf('state', 'state/state.sqlite', '/var/lib/signetd/state.sqlite', state.content),
                partOf('audit', 'audit/audit-00000001.jsonl', path),
              ]),
        ],
        audit: isState ? null : { name: 'signetd', directory: '/root', from: null, last: null, head: null, publicKeys: [] },
      },
    });
    await refused(`${path} is no place of signetd`);
  });

  it('is restored to the places of an installed service, with their owners and permissions', async () => {
    const path = '/etc/signetd/tls/client-ca.pem';
    const directories = ['/etc/signetd', '/etc/signetd/tls', '/var/lib/signetd'].map((one) => ({
      path: one,
      user: 'root',
      group: 'root',
      mode: 0o777,
    }));
    await made({ parts: [[{ ...configurationPart(path), mode: 0o666 }, Buffer.from('x')]], manifest: { directories } });
    const { status, stderr } = await restore('--any-origin');
    expect([status, stderr]).toEqual([0, expect.stringContaining('the keys were not compared with the token')]);
    const modeOf = (one: string): string => (statSync(join(root, 'to', one)).mode & 0o7777).toString(8);
    expect(['/etc/signetd/tls', path, '/var/lib/signetd', '/var/lib/signetd/state.sqlite'].map(modeOf)).toEqual([
      '750',
      '640',
      '700',
      '600',
    ]);
    expect(readFileSync(join(root, 'to', path), 'utf8')).toBe('x');
  });

  it('is restored to a directory that the operator allows, to the directory of the configuration, and over files that it names', async () => {
    await made(fileAt('/srv/keys/ca.pem'));
    await refused('nothing was restored\nsignetctl: /srv/keys/ca.pem is no place of signetd: --allow-path /srv/keys allows it\n');
    const directories = ['/etc/signetd', '/srv/keys', '/var/lib/signetd'].map((path) => ({
      path,
      user: 'root',
      group: 'root',
      mode: 0o755,
    }));
    await made({ ...fileAt('/srv/keys/ca.pem'), manifest: { directories } });
    expect((await restore('--any-origin', '--allow-path', '/srv/other', '/srv/keys')).status).toBe(0);
    const idle = await restore('--sha256', '0'.repeat(64), '--allow-path', '/srv/keys');
    expect([idle.status, idle.stderr]).toEqual([2, expect.stringContaining('--allow-path is only for --any-origin')]);
    rmSync(join(root, 'to'), { recursive: true });

    const here = join(root, 'none', 'deep');
    const inOwn = { path: here, user: 'root', group: 'root', mode: 0o755 };
    await made({ ...fileAt(join(here, 'ca.pem')), manifest: { directories: [...directories, inOwn] } });
    expect((await restore('--any-origin')).status).toBe(0);
    rmSync(join(root, 'to'), { recursive: true });

    mkdirSync(here, { recursive: true });
    writeFileSync(join(here, 'signetd.yaml'), named('/srv/keys/ca.pem'));
    await made({ ...fileAt('/srv/keys/ca.pem'), manifest: { directories } });
    expect((await restore('--any-origin')).status).toBe(0);
    rmSync(join(root, 'to'), { recursive: true });
    await made(fileAt('/srv/keys/other.pem'));
    await refused('/srv/keys/other.pem is no place of signetd');
  });

  it('goes through no symbolic link that leads elsewhere', async () => {
    const path = '/etc/signetd/tls/client-ca.pem';
    await made({ parts: [[configurationPart(path), Buffer.from('x')]] });
    mkdirSync(join(root, 'to/etc/signetd'), { recursive: true });
    mkdirSync(join(root, 'to/etc/cron.d'));
    symlinkSync('../cron.d', join(root, 'to/etc/signetd/tls'));
    const { status, stderr } = await restore('--any-origin');
    expect([status, stderr]).toEqual([
      1,
      expect.stringContaining(`${path}, which is /etc/cron.d/client-ca.pem here, is no place of signetd`),
    ]);
    rmSync(join(root, 'to/etc/signetd/tls'));
    mkdirSync(join(root, 'outside'));
    symlinkSync(join(root, 'outside'), join(root, 'to/etc/signetd/tls'));
    expect((await restore('--any-origin')).stderr).toContain(`which is ${join(root, 'outside/client-ca.pem')} here`);
    expect(readdirSync(join(root, 'to/etc/signetd'))).toEqual(['tls']);
  });
});

describe.each(['unknown', 'known'])('a backup of %s origin that nobody made with signetd', (origin) => {
  const isRefused = async (sha256: string, words: string | RegExp): Promise<void> =>
    origin === 'known' ? refused(words, '--sha256', sha256) : refused(words);

  it.each<[string, Made, string | RegExp]>([
    [
      'with a file that its configuration does not name',
      { parts: [[configurationPart('/etc/cron.d/job'), Buffer.from('x')]] },
      'job: the configuration in the backup does not name this path',
    ],
    [
      'with a file for the PKCS#11 module',
      {
        text: configurationText({
          more: 'clientAuthority: { certificate: /etc/signetd/m.so, keyId: "52'.concat('1'.repeat(32), '" }\n'),
        }).replace('host: external', 'host: external, modulePath: /etc/signetd/m.so'),
        parts: [[configurationPart('/etc/signetd/m.so'), Buffer.from('x')]],
      },
      'm.so: the configuration in the backup does not name this path',
    ],
    ['with a traversal', fileAt('/etc/signetd/../cron.d/job', { name: 'configuration/etc/cron.d/job' }), 'not a path that can be restored'],
    [
      'with a traversal out of the root',
      fileAt('/../../etc/cron.d/job', { name: 'configuration/etc/cron.d/job' }),
      'not a path that can be restored',
    ],
    ['with a traversal in the archive', fileAt('/etc/signetd/../cron.d/job'), '(parts.2.name: not a name inside the archive)'],
    [
      'with an absolute name in the archive',
      fileAt('/etc/signetd/x.pem', { name: '/etc/signetd/x.pem' }),
      '(parts.2.name: not a name inside the archive)',
    ],
    ['with a relative path', fileAt('etc/signetd/x.pem'), '(parts.2.path: '],
    ['with a doubled slash', fileAt('//etc/cron.d/job'), 'not a path that can be restored'],
    ['with a name that no file can have', fileAt(`/etc/signetd/${'é'.repeat(128)}`), 'not a path that can be restored'],
    ['with a directory as a file', fileAt('/etc/signetd/tls/'), 'not a path that can be restored'],
    [
      'with a zero byte',
      fileAt('/etc/signetd/ca.pem\0.txt', { name: 'configuration/etc/signetd/ca.pem' }),
      /ca\.pem\?\.txt: not a path that can be restored/,
    ],
    ['with a line feed', { parts: [[configurationPart('/etc/signetd/a\nb'), Buffer.from('x')]] }, 'a?b: not a path that can be restored'],
    ['with set user ID', fileAt('/etc/signetd/x.pem', { mode: 0o4755 }), 'its permissions have special bits'],
    ['with set group ID', fileAt('/etc/signetd/x.pem', { mode: 0o2755 }), 'its permissions have special bits'],
    [
      'with a directory with set user ID',
      { manifest: { directories: [{ path: '/etc/signetd', user: 'root', group: 'root', mode: 0o4755 }] } },
      'its permissions have special bits',
    ],
    [
      'with a directory beside the root',
      { manifest: { directories: [{ path: '/etc/../..', user: 'root', group: 'root', mode: 0o755 }] } },
      'not a path that can be restored',
    ],
    [
      'with another name in the archive',
      fileAt('/etc/signetd/x.pem', { name: 'configuration/etc/signetd/y.pem' }),
      'its name in the archive is configuration/etc/signetd/y.pem',
    ],
    [
      'with a kind that does not fit',
      fileAt('/etc/signetd/x.pem', { kind: 'transfer' }),
      'the configuration in the backup does not name this path',
    ],
    ['with a text of its own that has a path', fileAt('/etc/signetd/x.pem', { kind: 'about' }), 'no backup has such a file'],
    [
      'with two files for one path',
      {
        ...fileAt('/etc/signetd/x.pem'),
        parts: [
          [configurationPart('/etc/signetd/x.pem'), Buffer.from('x')],
          [{ ...configurationPart('/etc/signetd/x.pem'), name: 'configuration/etc/signetd/x2.pem' }, Buffer.from('x')],
        ],
      },
      'the backup has two files for it',
    ],
    [
      'with a second state',
      { parts: [[partOf('state', 'state/other.sqlite', '/var/lib/signetd/state.sqlite-wal'), Buffer.from('x')]] },
      'state.sqlite-wal: the configuration in the backup does not name this path',
    ],
    [
      'with a dump beside a database',
      { parts: [[partOf('about', 'state/x', null), Buffer.from('x')]] },
      'state/x: no backup has such a file',
    ],
    [
      'with the audit log elsewhere',
      { manifest: { audit: { name: 'signetd', directory: '/etc/cron.d', from: null, last: null, head: null, publicKeys: [] } } },
      '/etc/cron.d: not the directory that the configuration in the backup names',
    ],
    [
      'with the transfer store elsewhere',
      { manifest: { transfer: { directory: '../x' } } },
      '../x: not the directory that the configuration in the backup names',
    ],
    [
      'with the account elsewhere',
      { manifest: { account: { directory: '/root' } } },
      '/root: not the directory that the configuration in the backup names',
    ],
    ['whose configuration is a traversal', { manifest: { configuration: '/etc/signetd/../../x.yaml' } }, 'does not have its configuration'],
    ['without its configuration', { manifest: { configuration: '/etc/signetd/other.yaml' } }, 'does not have its configuration'],
    [
      'whose configuration cannot be parsed',
      { text: 'listeners: [' },
      'the configuration in the backup cannot be used: /etc/signetd/signetd.yaml:1:',
    ],
    [
      'with a file that the manifest does not name',
      { entries: [{ name: 'configuration/etc/cron.d/job', content: Buffer.from('x') }] },
      'the manifest does not name configuration/etc/cron.d/job',
    ],
    [
      'with a file twice',
      {
        entries: [
          { name: 'x', content: Buffer.from('x') },
          { name: 'x', content: Buffer.from('y') },
        ],
      },
      'x is there twice',
    ],
    [
      'with a part of the log under its name and below it',
      {
        entries: [
          { name: 'audit/audit-00000001.jsonl', content: Buffer.from('x') },
          { name: 'audit/audit-00000001.jsonl/x', content: Buffer.from('x') },
        ],
      },
      'the manifest does not name audit/audit-00000001.jsonl',
    ],
    ['with a hard link', { entries: [headerOfType('1', 'x', '/etc/passwd')] }, 'an entry that is not a file'],
    ['with a symbolic link', { entries: [headerOfType('2', 'x', '/etc/passwd')] }, 'an entry that is not a file'],
    ['with a character device', { entries: [headerOfType('3', 'x')] }, 'an entry that is not a file'],
    ['with a block device', { entries: [headerOfType('4', 'x')] }, 'an entry that is not a file'],
    ['with a directory', { entries: [headerOfType('5', 'x')] }, 'an entry that is not a file'],
    ['with a FIFO', { entries: [headerOfType('6', 'x')] }, 'an entry that is not a file'],
  ])('%s is refused in words, before anything is written, and by backup verify', async (_what, backup, words) => {
    await isRefused(await made(backup), words);
    const verified = await signetctlHere(['backup', 'verify', join(root, 'made.age'), '--identity', operator.identity]);
    expect([verified.status, verified.stderr]).toEqual([
      1,
      typeof words === 'string' ? expect.stringContaining(words) : expect.stringMatching(words),
    ]);
  });

  it('with a part that is not the one of its manifest is refused', async () => {
    const part = configurationPart('/etc/signetd/x.pem');
    const sha256 = await made({ text: named('/etc/signetd/x.pem'), parts: [[{ ...part, sha256: '0'.repeat(64) }, Buffer.from('x')]] });
    await isRefused(sha256, 'configuration/etc/signetd/x.pem is not the file that the manifest names');
    const longer = await made({ text: named('/etc/signetd/x.pem'), parts: [[{ ...part, bytes: 2 }, Buffer.from('x')]] });
    await isRefused(longer, 'configuration/etc/signetd/x.pem is not the file that the manifest names');
    const missing = await made({ manifest: { parts: [part] } });
    await isRefused(missing, 'is missing');
  });
});

describe('a backup whose digest is known', () => {
  it('is restored to wherever its configuration names a file, with the permissions that it had, but none to run it', async () => {
    const path = '/srv/certificates/ca.pem';
    const directories = ['/etc/signetd', '/srv/certificates', '/var/lib/signetd'].map((one) => ({
      path: one,
      user: 'root',
      group: 'root',
      mode: 0o755,
    }));
    const sha256 = await made({ ...fileAt(path, { mode: 0o755 }), manifest: { directories } });
    expect(await restore('--sha256', sha256)).toMatchObject({ status: 0 });
    expect((statSync(join(root, 'to', path)).mode & 0o7777).toString(8)).toBe('644');
  });

  it('is refused over anything with the name of one of its files, also a symbolic link that leads nowhere', async () => {
    const sha256 = await made({});
    for (const path of ['to/var/lib/signetd', 'to/etc/signetd']) mkdirSync(join(root, path), { recursive: true });
    const link = join(root, 'to/var/lib/signetd/state.sqlite');
    symlinkSync('nowhere', link);
    const { status, stderr } = await restore('--sha256', sha256);
    expect([status, stderr]).toEqual([5, expect.stringContaining('state.sqlite')]);
    expect(lstatSync(link).isSymbolicLink()).toBe(true);
    expect(readdirSync(join(root, 'to/etc/signetd'))).toEqual([]);
  });

  it('is refused in words where a file stands in the way of a directory', async () => {
    const directories = ['/etc/signetd', '/var/lib/signetd'].map((path) => ({ path, user: 'root', group: 'root', mode: 0o755 }));
    const sha256 = await made({ manifest: { directories } });
    mkdirSync(join(root, 'to'));
    writeFileSync(join(root, 'to/etc'), '');
    chmodSync(join(root, 'to/etc'), 0o600);
    const { status, stderr } = await restore('--sha256', sha256);
    expect([status, stderr]).toEqual([5, expect.stringMatching(/ENOTDIR|EEXIST/)]);
  });

  it('and lacks a directory of its files is refused in words, and leaves none behind', async () => {
    const directories = [{ path: '/etc/signetd', user: 'root', group: 'root', mode: 0o755 }];
    await refused(
      '/var/lib/signetd/state.sqlite: its directory is neither in the backup nor here',
      ...['--sha256', await made({ manifest: { directories } })],
    );
  });

  it('leaves no directory behind where one of them cannot be made', async () => {
    const directories = ['/etc/signetd', '/var/lib/signetd'].map((path) => ({ path, user: 'root', group: 'root', mode: 0o755 }));
    const sha256 = await made({ manifest: { directories } });
    mkdirSync(join(root, 'to'));
    symlinkSync('nowhere', join(root, 'to/var'));
    const { status, stderr } = await restore('--sha256', sha256);
    expect([status, stderr]).toEqual([5, expect.stringContaining('the backup was not restored completely')]);
    expect(readdirSync(join(root, 'to'))).toEqual(['var']);
  });

  it.skipIf(notRoot !== undefined)(`tells once of the owners that this machine lacks${skipNote(notRoot)}`, async () => {
    const directories = ['/etc/signetd', '/var/lib/signetd'].map((path) => ({ path, user: 'nosuch', group: 'nosuch', mode: 0o755 }));
    const foreign = ['/etc/signetd/tls/server.pem', '/etc/signetd/ca.pem'].map((path): [Part, Uint8Array] => [
      { ...configurationPart(path), user: 'nosuch', group: 'nosuch' },
      Buffer.from('x'),
    ]);
    const tls = { path: '/etc/signetd/tls', user: 'root', group: 'root', mode: 0o755 };
    const { status, stderr } = await restore('--sha256', await made({ parts: foreign, manifest: { directories: [...directories, tls] } }));
    expect([status, stderr.match(/this machine has no/g)]).toEqual([0, ['this machine has no']]);
    expect(stderr).toContain('no user "nosuch", no group "nosuch": ');
    expect(stderr).toContain('and 3 more files and directories belong to root');
  });
});
