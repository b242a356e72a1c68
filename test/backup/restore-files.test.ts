import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { BackupFault, type BackupFile } from '../../src/backup/encrypted-file.ts';
import type { Manifest, Part } from '../../src/backup/manifest.ts';
import { decrypterWith } from '../../src/backup/operator-keys.ts';
import { MissingOwners } from '../../src/backup/owners.ts';
import { RestoreDirectories } from '../../src/backup/restore-directories.ts';
import { restoreFiles } from '../../src/backup/restore-files.ts';
import { choices, restoreTargets, type Choice, type Targets } from '../../src/backup/restore-targets.ts';
import { fileName } from '../../src/audit/file-names.ts';
import { parseConfig } from '../../src/config/config.ts';
import { archive, configurationText, encrypted, manifestOf, partOf } from './made-backup.ts';
import { Operator } from './operator.ts';

let operator: Operator;
let root: string;
const configPath = '/etc/signetd/signetd.yaml';
const transferId = 'a'.repeat(43);

beforeAll(() => {
  operator = new Operator();
});
afterAll(() => {
  operator.remove();
});
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'signetd-restore-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

const contents = new Map<string, Buffer>();
function part(kind: Part['kind'], path: string, text: string): Part {
  const name =
    { configuration: `configuration${path}`, state: 'state/state.sqlite' }[kind as string] ?? `${kind}/${path.split('/').at(-1) ?? ''}`;
  contents.set(name, Buffer.from(text));
  return partOf(kind, name, path, Buffer.from(text));
}

const config = parseConfig(configPath, configurationText());

/** A backup with everything. */
function everything(): Manifest {
  contents.clear();
  const parts = [
    part('configuration', configPath, configurationText()),
    part('configuration', '/etc/signetd/tls/server.pem', 'certificate'),
    part('state', '/var/lib/signetd/state.sqlite', 'state'),
    part('audit', `/var/log/signetd/audit/${fileName(1)}`, 'log'),
    part('account', '/var/lib/signetd-token/account/account-0-00000001.jsonl', 'account'),
  ];
  return manifestOf(parts, {
    audit: { name: 'signetd', directory: '/var/log/signetd/audit', from: null, last: null, head: null, publicKeys: [] },
    account: { directory: '/var/lib/signetd-token/account' },
    directories: [
      '/etc/signetd',
      '/etc/signetd/tls',
      '/var/lib/signetd',
      '/var/log/signetd/audit',
      '/var/lib/signetd-token/account',
      '/unneeded',
    ].map((path) => ({ path, user: 'root', group: 'root', mode: 0o751 })),
  });
}

async function made(manifest: Manifest, change: (bytes: Buffer) => Buffer = (bytes) => bytes): Promise<BackupFile> {
  const path = join(root, 'made.age');
  const entries = manifest.parts.map(({ name }) => ({ name, content: contents.get(name) ?? Buffer.alloc(0) }));
  await encrypted(
    path,
    operator.recipient,
    change(archive([...entries, { name: 'manifest.json', content: Buffer.from(JSON.stringify(manifest)) }])),
  );
  return { path, decrypter: decrypterWith(operator.identity), sha256: undefined };
}

const to = (): string => join(root, 'to');
const targetsOf = (manifest: Manifest, chosen: readonly Choice[] = choices): Targets =>
  restoreTargets(manifest, config, { chosen: new Set(chosen), root: to(), places: undefined });
const quiet = { progress: (): void => undefined, owners: new MissingOwners() };

function makeDirectories(targets: Targets): string[] {
  const owners = new MissingOwners();
  new RestoreDirectories().make(targets, owners);
  return owners.notes();
}

/** All files below the root, with their contents. */
function files(directory = to(), prefix = ''): Record<string, string> {
  if (!existsSync(directory)) return {};
  return Object.fromEntries(
    readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
      const path = `${prefix}/${entry.name}`;
      return entry.isDirectory()
        ? Object.entries(files(join(directory, entry.name), path))
        : [[path, readFileSync(join(directory, entry.name), 'utf8')] as const];
    }),
  );
}

describe('where the parts of a backup go', () => {
  it('is below the root, each kind as it was chosen; the account goes with the log', () => {
    const manifest = everything();
    const pathsOf = (...chosen: Choice[]): string[] => targetsOf(manifest, chosen).targets.map(({ path }) => path.slice(to().length));
    expect(pathsOf('configuration')).toEqual([configPath, '/etc/signetd/tls/server.pem']);
    expect(pathsOf('state')).toEqual(['/var/lib/signetd/state.sqlite']);
    expect(pathsOf('audit')).toEqual([`/var/log/signetd/audit/${fileName(1)}`, '/var/lib/signetd-token/account/account-0-00000001.jsonl']);
    expect(pathsOf('transfer')).toEqual([]);
  });

  it('needs the directories of these parts, and no other', () => {
    const { directories } = targetsOf(everything(), ['state', 'configuration']);
    expect(directories.map(({ path }) => path.slice(to().length))).toEqual(['/etc/signetd', '/etc/signetd/tls', '/var/lib/signetd']);
  });

  it('has in the way the same files, every file of a log, of an account and of the store, and what belongs to a database', () => {
    const manifest = everything();
    const put = (path: string, text = 'there'): void => {
      mkdirSync(join(to(), path, '..'), { recursive: true });
      writeFileSync(join(to(), path), text);
    };
    expect(targetsOf(manifest).existing).toEqual([]);
    put(configPath, configurationText());
    put('/etc/signetd/tls/server.pem', 'certificatf');
    put('/etc/signetd/other.pem');
    for (const end of ['-wal', '-shm']) put(`${configPath}${end}`);
    for (const end of ['', '-wal', '-shm', '-journal']) put(`/var/lib/signetd/state.sqlite${end}`);
    put(`/var/log/signetd/audit/${fileName(7)}`);
    put('/var/log/signetd/audit/notes.txt');
    mkdirSync(join(to(), `/var/log/signetd/audit/${fileName(9)}`));
    put('/var/lib/signetd-token/account/account-3-00000001.jsonl');
    put(`/var/lib/signetd/transfer/${transferId}`);
    const targets = targetsOf(manifest);
    expect(targets.existing.map((path) => path.slice(to().length)).toSorted()).toEqual([
      '/etc/signetd/tls/server.pem',
      '/var/lib/signetd-token/account/account-3-00000001.jsonl',
      '/var/lib/signetd/state.sqlite',
      '/var/lib/signetd/state.sqlite-shm',
      '/var/lib/signetd/state.sqlite-wal',
      `/var/log/signetd/audit/${fileName(7)}`,
    ]);
    expect([...targets.same]).toEqual([join(to(), configPath)]);
    expect(targetsOf(manifest, ['state']).existing).toHaveLength(3);
  });
});

describe('the directories of a restore', () => {
  it('are made with the owner that they had, those above them for everybody to pass, and are left alone if they are there', () => {
    mkdirSync(join(to(), 'var/lib/signetd'), { recursive: true, mode: 0o700 });
    const before = process.umask(0o077);
    try {
      expect(makeDirectories(targetsOf(everything()))).toEqual([]);
    } finally {
      process.umask(before);
    }
    const modeOf = (path: string): string => (statSync(join(to(), path)).mode & 0o7777).toString(8);
    expect(['etc', 'etc/signetd', 'etc/signetd/tls', 'var/lib/signetd', 'var/log/signetd', 'var/log/signetd/audit'].map(modeOf)).toEqual([
      ...['755', '751', '751', '700', '755', '751'],
    ]);
    expect(existsSync(join(to(), 'unneeded'))).toBe(false);
  });

  it('go again with the locks in them if it fails, but none that was there, or has files', () => {
    mkdirSync(join(to(), 'var/lib'), { recursive: true });
    const directories = new RestoreDirectories();
    directories.make(targetsOf(everything()), new MissingOwners());
    const [lock, foreign] = ['var/lib/signetd/state.sqlite-lock', 'var/lib/lock'].map((path) => join(to(), path));
    for (const path of [lock, foreign, join(to(), 'etc/signetd/tls/other.pem')]) writeFileSync(path ?? '', '');
    directories.remove([lock ?? '', foreign ?? '']);
    expect(Object.keys(files()).toSorted()).toEqual(['/etc/signetd/tls/other.pem', '/var/lib/lock']);
    expect(readdirSync(join(to(), 'var'))).toEqual(['lib']);
    expect(readdirSync(join(to(), 'var/lib'))).toEqual(['lock']);
  });

  it('are those that the backup has, or that are there: without one nothing is restored', () => {
    const manifest = everything();
    const without = { ...manifest, directories: manifest.directories.filter(({ path }) => path !== '/etc/signetd/tls') };
    const words = 'nothing was restored\n/etc/signetd/tls/server.pem: its directory is neither in the backup nor here';
    expect(() => targetsOf(without)).toThrow(words);
    expect(targetsOf(without, ['state']).targets).toHaveLength(1);
    mkdirSync(join(to(), 'etc/signetd'), { recursive: true });
    writeFileSync(join(to(), 'etc/signetd/tls'), '');
    expect(() => targetsOf(without)).toThrow(words);
    rmSync(join(to(), 'etc/signetd/tls'));
    mkdirSync(join(to(), 'etc/signetd/tls'));
    expect(targetsOf(without).targets).toHaveLength(5);
  });
});

describe('a restore', () => {
  it('gives all files their names, keeps what was in the way, and leaves files alone that are the same', async () => {
    const manifest = everything();
    makeDirectories(targetsOf(manifest));
    writeFileSync(join(to(), configPath), configurationText(), { mode: 0o604 });
    for (const end of ['', '-wal']) writeFileSync(join(to(), `var/lib/signetd/state.sqlite${end}`), `old${end}`);
    const targets = targetsOf(manifest);
    const { restored, kept } = await restoreFiles(await made(manifest), targets, quiet);
    expect(quiet.owners.notes()).toEqual([]);
    expect(restored).toHaveLength(4);
    expect(kept.map((path) => path.slice(to().length).replace(/\d{8}T\d{6}Z/, 'TIME'))).toEqual([
      '/var/lib/signetd/state.sqlite.before-restore-TIME',
      '/var/lib/signetd/state.sqlite.before-restore-TIME-wal',
    ]);
    const found = files();
    expect(Object.keys(found)).toHaveLength(7);
    expect(found).toMatchObject({
      '/etc/signetd/tls/server.pem': 'certificate',
      '/var/lib/signetd/state.sqlite': 'state',
      [`/var/log/signetd/audit/${fileName(1)}`]: 'log',
      '/var/lib/signetd-token/account/account-0-00000001.jsonl': 'account',
    });
    expect(readFileSync(kept[0] ?? '', 'utf8')).toBe('old');
    expect(readFileSync(kept[1] ?? '', 'utf8')).toBe('old-wal');
    expect((statSync(join(to(), configPath)).mode & 0o777).toString(8)).toBe('604');
  });

  it('gives no file the right to be run, nor set user ID', async () => {
    const manifest = everything();
    const parts = manifest.parts.map((one) => ({ ...one, mode: 0o6777 }));
    makeDirectories(targetsOf(manifest));
    const targets = targetsOf(manifest);
    const loose = { ...targets, targets: targets.targets.map((target, index) => ({ ...target, part: parts[index] ?? target.part })) };
    const { restored } = await restoreFiles(await made(manifest), loose, quiet);
    for (const path of restored) expect((statSync(path).mode & 0o7777).toString(8)).toBe('666');
  });

  it.each<[string, (bytes: Buffer) => Buffer]>([
    ['is cut off', (bytes) => bytes.subarray(0, bytes.length - 2048)],
    ['has another byte', (bytes) => Buffer.from(bytes.toString('latin1').replace('certificate\0', 'certificatE\0'), 'latin1')],
  ])('of a file that %s changes nothing', async (_what, change) => {
    const manifest = everything();
    makeDirectories(targetsOf(manifest));
    writeFileSync(join(to(), 'var/lib/signetd/state.sqlite'), 'old');
    await expect(restoreFiles(await made(manifest, change), targetsOf(manifest), quiet)).rejects.toThrow(BackupFault);
    expect(files()).toEqual({ '/var/lib/signetd/state.sqlite': 'old' });
  });

  it('has the files of the transfer store as well', async () => {
    contents.clear();
    const manifest = manifestOf([part('transfer', `/var/lib/signetd/transfer/${transferId}`, 'uploaded')], {
      transfer: { directory: '/var/lib/signetd/transfer' },
      directories: [{ path: '/var/lib/signetd/transfer', user: 'root', group: 'root', mode: 0o700 }],
    });
    makeDirectories(targetsOf(manifest));
    await restoreFiles(await made(manifest), targetsOf(manifest), quiet);
    expect(files()).toEqual({ [`/var/lib/signetd/transfer/${transferId}`]: 'uploaded' });
  });

  it('that finds a kept file of its own name changes nothing', async () => {
    const manifest = everything();
    makeDirectories(targetsOf(manifest));
    const state = join(to(), 'var/lib/signetd/state.sqlite');
    for (const path of [join(to(), configPath), state]) writeFileSync(path, 'old');
    vi.useFakeTimers({ toFake: ['Date'], now: Date.UTC(2026, 2, 2, 10, 15, 30) });
    try {
      writeFileSync(`${state}.before-restore-20260302T101530Z`, 'older');
      const before = files();
      await expect(restoreFiles(await made(manifest), targetsOf(manifest), quiet)).rejects.toThrow('101530Z: the file exists');
      expect(files()).toEqual(before);
      vi.setSystemTime(Date.UTC(2026, 2, 2, 10, 15, 31));
      const { kept } = await restoreFiles(await made(manifest), targetsOf(manifest), quiet);
      expect(kept.map((path) => path.slice(to().length)).toSorted()).toEqual([
        `${configPath}.before-restore-20260302T101531Z`,
        '/var/lib/signetd/state.sqlite.before-restore-20260302T101531Z',
      ]);
    } finally {
      vi.useRealTimers();
    }
  });
});
