import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { AuditLog } from '../../src/audit/audit-log.ts';
import { fileName } from '../../src/audit/file-names.ts';
import { archiveOf, beginningOf, bytesOf, type PartSource } from '../../src/backup/archive.ts';
import { checkDigest, readEncrypted, writeEncrypted, type BackupFile } from '../../src/backup/encrypted-file.ts';
import { Manifest, type Part } from '../../src/backup/manifest.ts';
import { decrypterWith, encrypterFor } from '../../src/backup/operator-keys.ts';
import { readBackup, type TakePart } from '../../src/backup/read-backup.ts';
import { lockFiles, lockForRestore } from '../../src/backup/restore-locks.ts';
import { restoreTargets, type Targets } from '../../src/backup/restore-targets.ts';
import { verifyBackup, type Verified } from '../../src/backup/verify-backup.ts';
import { WorkDirectory, writeNew } from '../../src/backup/work-directory.ts';
import { parseConfig } from '../../src/config/config.ts';
import { DirectoryLock } from '../../src/service/directory-lock.ts';
import { claimAlone } from '../../src/state/sqlite/sqlite-database.ts';
import { ScratchLog } from '../audit/scratch-log.ts';
import { archive, configurationText, emptyState, encrypted, manifestOf, partOf, type Entry } from './made-backup.ts';
import { Operator } from './operator.ts';

let operator: Operator;
let state: Awaited<ReturnType<typeof emptyState>>;
let directory: string;

beforeAll(async () => {
  operator = new Operator();
  state = await emptyState();
});
afterAll(() => {
  operator.remove();
});
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-reading-'));
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

const x = Buffer.from('x');
const progress = (): void => undefined;
const leave: TakePart = async () => Promise.resolve();
const manifestEntry = (manifest: unknown): Entry => ({ name: 'manifest.json', content: Buffer.from(JSON.stringify(manifest)) });
const about = (name: string, content = x): Part => partOf('about', name, null, content);

async function backupOf(entries: readonly Entry[]): Promise<BackupFile> {
  const path = join(directory, 'made.age');
  await encrypted(path, operator.recipient, archive(entries));
  return { path, decrypter: decrypterWith(operator.identity), sha256: undefined };
}

describe('a backup that is read', () => {
  it.each<[string, readonly Entry[], string]>([
    ['without a manifest', [{ name: 'README.txt', content: x }], 'there is no manifest'],
    [
      'with a file after the manifest',
      [manifestEntry(manifestOf([])), { name: 'README.txt', content: x }],
      'README.txt follows the manifest',
    ],
    ['with two manifests', [manifestEntry(manifestOf([])), manifestEntry(manifestOf([]))], 'manifest.json follows the manifest'],
    [
      'whose manifest names a file twice',
      [{ name: 'a', content: x }, manifestEntry(manifestOf([about('a'), about('a')]))],
      'the manifest names a file twice',
    ],
    ['whose manifest is no JSON', [{ name: 'manifest.json', content: x }], 'the manifest is not one that this version understands'],
    ['whose manifest has millions of values', [{ name: 'manifest.json', content: Buffer.alloc(8_000_001, '[') }], 'has too many values'],
    ['of another format', [manifestEntry({ ...manifestOf([]), formatVersion: 2 })], '(formatVersion: '],
    [
      'with a member that is unknown',
      [manifestEntry({ ...manifestOf([]), more: 1 })],
      'the manifest is not one that this version understands',
    ],
    ['that lacks a file', [manifestEntry(manifestOf([about('a')]))], 'a is missing'],
    [
      'with another file',
      [{ name: 'a', content: Buffer.from('y') }, manifestEntry(manifestOf([about('a')]))],
      'a is not the file that the manifest names',
    ],
    [
      'with a file of another size',
      [{ name: 'a', content: x }, manifestEntry(manifestOf([{ ...about('a'), bytes: 2 }]))],
      'a is not the file that the manifest names',
    ],
    ['with bytes that are no archive', [Buffer.alloc(1024, 7)], 'it is not a tar archive'],
  ])('%s is refused', async (_what, entries, words) => {
    await expect(readBackup(await backupOf(entries), leave, progress)).rejects.toThrow(words);
  });

  it('is one of age, and encrypted to the key that is given', async () => {
    const path = join(directory, 'none.age');
    const read = async (): Promise<unknown> =>
      readBackup({ path, decrypter: decrypterWith(operator.identity), sha256: undefined }, leave, progress);
    writeFileSync(path, 'not a file of age');
    await expect(read()).rejects.toThrow('not a file of age, or its beginning is damaged');
    const other = new Operator();
    await encrypted(path, other.recipient, archive([manifestEntry(manifestOf([]))]));
    other.remove();
    await expect(read()).rejects.toThrow('the file is not encrypted to this key, or its beginning is damaged');
  });

  it('has a header with as many recipients as operators have, and no more', async () => {
    const path = join(directory, 'header.age');
    const read = async (): Promise<unknown> =>
      readBackup({ path, decrypter: decrypterWith(operator.identity), sha256: undefined }, leave, progress);
    await encrypted(path, operator.recipient, archive([manifestEntry(manifestOf([]))]));
    const [version = '', ...rest] = readFileSync(path, 'latin1').split('\n');
    // Of an unknown kind, so that nothing is decrypted.
    const stanza = `-> other ${'a'.repeat(40)}\n${'A'.repeat(43)}`;
    const withStanzas = (count: number): Buffer =>
      Buffer.from([version, ...Array.from({ length: count }, () => stanza), ...rest].join('\n'), 'latin1');
    for (const [content, words] of [
      [withStanzas(600), 'invalid header HMAC'],
      [withStanzas(700), 'a header of more than 65536 bytes'],
      [Buffer.from(`${version}\n-> X25519 ${'A'.repeat(1_000_000)}`), 'a header of more than 65536 bytes'],
      [Buffer.from(`${version}\n`), 'not a file of age, or its beginning is damaged'],
    ] as const) {
      writeFileSync(path, content);
      await expect(read()).rejects.toThrow(words);
    }
  });

  it('has a name for each part, inside the archive', () => {
    const isGood = (name: string): boolean => Manifest.safeParse(manifestOf([about(name)])).success;
    expect(['a', 'a/b', '..a', 'a..', 'n'.repeat(4096)].map(isGood)).toEqual([true, true, true, true, true]);
    expect(['', '/a', '..', 'a/../b', 'a/..', 'n'.repeat(4097)].map(isGood)).toEqual([false, false, false, false, false, false]);
  });

  it('gives each part to whoever takes it, checks what is left, and counts the bytes', async () => {
    const long = Buffer.alloc(300_000, 'long');
    const parts = [about('a', long), about('b'), about('c', Buffer.alloc(0))];
    const backup = await backupOf([
      { name: 'a', content: long },
      { name: 'b', content: x },
      { name: 'c', content: Buffer.alloc(0) },
      manifestEntry(manifestOf(parts)),
    ]);
    const taken: Record<string, number> = {};
    const counts: number[] = [];
    const manifest = await readBackup(
      backup,
      async (name, content) => {
        // What it leaves is read all the same.
        if (name === 'a') return;
        taken[name] = 0;
        for await (const chunk of content) taken[name] += chunk.length;
      },
      (bytes) => counts.push(bytes),
    );
    expect(manifest.parts).toHaveLength(3);
    expect(taken).toEqual({ b: 1, c: 0 });
    expect(counts.at(-1)).toBe(300_001);
    expect(counts).toEqual(counts.toSorted((one, other) => one - other));
  });

  it('is the file with its digest, in either case of letters', async () => {
    const backup = await backupOf([manifestEntry(manifestOf([]))]);
    const digest = await checkDigest(backup.path, undefined);
    expect(digest).toBe(createHash('sha256').update(readFileSync(backup.path)).digest('hex'));
    expect(await checkDigest(backup.path, digest.toUpperCase())).toBe(digest);
    await expect(checkDigest(backup.path, '0'.repeat(64))).rejects.toThrow(`its SHA-256 is ${digest}`);
    expect(await readBackup({ ...backup, sha256: digest }, leave, progress)).toMatchObject({ format: 'signetd backup' });
    await expect(readBackup({ ...backup, sha256: '0'.repeat(64) }, leave, progress)).rejects.toThrow(
      'it is not the file that was expected',
    );
  });
});

describe('a backup that is written', () => {
  const write = async (parts: readonly PartSource[], name = 'new.age'): Promise<unknown> => {
    async function* all(): AsyncGenerator<PartSource> {
      for (const part of parts) yield await Promise.resolve(part);
    }
    const { encrypter } = encrypterFor([operator.recipient]);
    return writeEncrypted(
      join(directory, name),
      encrypter,
      archiveOf(all(), (written) => Manifest.parse(manifestOf(written)), progress),
    );
  };
  const source = (name: string, bytes: number, content: AsyncIterable<Uint8Array>): PartSource => ({
    ...{ kind: 'about', name, bytes, path: null, user: 'root', group: 'root', mode: 0o600 },
    content,
  });

  it('is read again, is only for its owner, and replaces no file', async () => {
    const name = `long/${'n'.repeat(200)}`;
    const written = await write([source('a', 1, bytesOf(x)), source(name, 2000, bytesOf(Buffer.alloc(2000)))]);
    const path = join(directory, 'new.age');
    const backup = { path, decrypter: decrypterWith(operator.identity), sha256: undefined };
    expect((await readBackup(backup, leave, progress)).parts.map((part) => part.name)).toEqual(['a', name]);
    const { size, mode } = statSync(path);
    expect([written, mode & 0o777]).toEqual([{ bytes: size, sha256: await checkDigest(path, undefined) }, 0o600]);
    await expect(write([])).rejects.toThrow('EEXIST');
    expect(readdirSync(directory)).toEqual(['new.age']);
  });

  it.each([
    ['grew', 1, Buffer.from('xy')],
    ['shrank', 3, Buffer.from('xy')],
  ])('is none if a file %s meanwhile', async (_what, bytes, content) => {
    await expect(write([source('a', bytes, bytesOf(content))])).rejects.toThrow('a: its size changed while it was read');
    expect(readdirSync(directory)).toEqual([]);
  });

  it('has the beginning of a file that grows', async () => {
    const path = join(directory, 'growing');
    writeFileSync(path, 'beginning and more');
    const chunks: Uint8Array[] = [];
    for await (const chunk of beginningOf({ path, bytes: 9 })) chunks.push(chunk);
    for await (const chunk of beginningOf({ path: join(directory, 'none'), bytes: 0 })) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toBe('beginning');
  });

  it('has no content for a reader that stops early', async () => {
    await write([source('a', 1, bytesOf(x))]);
    const reading = readEncrypted({
      path: join(directory, 'new.age'),
      decrypter: decrypterWith(operator.identity),
      sha256: '0'.repeat(64),
    });
    expect((await reading.next()).done).toBe(false);
    await reading.return(undefined);
  });
});

describe('what a backup says of itself', () => {
  const verify = async (manifest: Manifest, contents: Readonly<Record<string, Uint8Array>>): Promise<Verified> => {
    const entries = Object.entries(contents).map(([name, content]) => ({ name, content }));
    const work = new WorkDirectory(directory);
    try {
      return await verifyBackup(await backupOf([...entries, manifestEntry(manifest)]), { work, progress });
    } finally {
      work.remove();
    }
  };
  const statePart = (content: Uint8Array): Part => partOf('state', 'state/state.sqlite', '/var/lib/signetd/state.sqlite', content);

  it('is whole with its state, as the manifest describes it', async () => {
    const manifest = manifestOf([statePart(state.content)], { state: state.said });
    const good = await verify(manifest, { 'state/state.sqlite': state.content });
    expect(good).toMatchObject({ faults: [], notes: [], configuration: undefined });
    const others = [{ hasMacKey: !state.said.hasMacKey }, { migrations: state.said.migrations.slice(1) }];
    for (const other of others) {
      const { faults } = await verify({ ...manifest, state: { ...state.said, ...other } }, { 'state/state.sqlite': state.content });
      expect(faults).toEqual(['the state is not the one that the manifest describes']);
    }
    expect(readdirSync(directory)).toEqual(['made.age']);
  });

  it('lacks its state, or has something else, or a damaged database', async () => {
    expect((await verify(manifestOf([], { state: state.said }), {})).faults).toEqual(['the backup has no state']);
    expect((await verify(manifestOf([], { state: { ...state.said, kind: 'postgresql' } }), {})).faults).toEqual([
      'the backup has no state',
    ]);
    const other = Buffer.from('not a database');
    const verified = await verify(manifestOf([statePart(other)], { state: state.said }), { 'state/state.sqlite': other });
    expect(verified.faults).toEqual([expect.stringContaining('the state is not a database of signetd')]);
    const damaged = Buffer.from(state.content);
    damaged.fill(0xff, damaged.length - 4096);
    const found = await verify(manifestOf([statePart(damaged)], { state: state.said }), { 'state/state.sqlite': damaged });
    expect(found.faults[0]).toContain('the database is damaged');
  });

  it('has a dump that can be read, in pieces', async () => {
    const name = 'state/postgresql.dump.0001';
    const said = { state: { ...state.said, kind: 'postgresql' } } as const;
    const { faults, notes } = await verify(manifestOf([partOf('state', name, null)], said), { [name]: x });
    // Without pg_restore nothing is known of it.
    expect([...faults, ...notes]).toEqual([expect.stringMatching(/^the dump cannot be read|the dump was not read$/)]);
  });

  it('has its configuration first', async () => {
    const parts = ['/etc/signetd/signetd.yaml', '/etc/signetd/b.pem'].map((path) => partOf('configuration', `configuration${path}`, path));
    const contents = { 'configuration/etc/signetd/signetd.yaml': x, 'configuration/etc/signetd/b.pem': Buffer.from('x') };
    expect((await verify(manifestOf(parts, { state: state.said }), contents)).configuration?.toString()).toBe('x');
    const turned = { 'configuration/etc/signetd/b.pem': x, 'configuration/etc/signetd/signetd.yaml': x };
    expect((await verify(manifestOf(parts, { state: state.said }), turned)).configuration).toBe(undefined);
  });

  it('has the log that belongs to it, whole and to its end', async () => {
    const scratch = new ScratchLog(join(directory, 'log'));
    let log: AuditLog | undefined = await scratch.open();
    await log.stop();
    log = undefined;
    const kept = scratch.memory.kept;
    if (kept === undefined) throw new Error('the log keeps a checkpoint');
    const content = readFileSync(join(directory, 'log', fileName(1)));
    const audit = {
      ...{ name: 'signetd', directory: '/var/log/signetd/audit', from: fileName(1) },
      ...{ last: { n: kept.n, hash: kept.hash }, head: null, publicKeys: [Buffer.from(scratch.signer.publicKey).toString('base64')] },
    };
    const part = (bytes: Uint8Array): Part => partOf('audit', `audit/${fileName(1)}`, `/var/log/signetd/audit/${fileName(1)}`, bytes);
    const name = `audit/${fileName(1)}`;
    const said = { state: { ...state.said, kind: 'postgresql' }, audit } as const;
    // Without a state only the log itself is looked at.
    const good = await verify(manifestOf([part(content)], said), { [name]: content });
    expect([good.audit?.bad, good.faults]).toEqual([undefined, ['the backup has no state']]);
    expect((await verify(manifestOf([], said), {})).faults).toContain('the backup has no audit log');
    const changed = Buffer.from(content.toString().replace('"kind":"start"', '"kind":"Start"'));
    const bad = await verify(manifestOf([part(changed)], said), { [name]: changed });
    expect(bad.faults).toContainEqual(expect.stringContaining(`audit log: ${fileName(1)}, line `));
    const cut = content.subarray(0, content.indexOf('\n') + 1);
    expect((await verify(manifestOf([part(cut)], said), { [name]: cut })).faults).toContainEqual(expect.stringContaining('audit log: '));
    rmSync(join(directory, 'log'), { recursive: true });
  });
});

describe('the locks of a restore', () => {
  const config = parseConfig('/etc/signetd/signetd.yaml', configurationText());
  const manifest = manifestOf(
    [
      partOf('configuration', 'configuration/etc/signetd/signetd.yaml', '/etc/signetd/signetd.yaml'),
      partOf('state', 'state/state.sqlite', '/var/lib/signetd/state.sqlite'),
      partOf('audit', `audit/${fileName(1)}`, `/var/log/signetd/audit/${fileName(1)}`),
      partOf('account', 'account/account-0-00000001.jsonl', '/var/lib/signetd-token/account/account-0-00000001.jsonl'),
    ],
    {
      audit: { name: 'signetd', directory: '/var/log/signetd/audit', from: null, last: null, head: null, publicKeys: [] },
      account: { directory: '/var/lib/signetd-token/account' },
    },
  );
  const at = (path: string): string => join(directory, path);
  const targets = (...chosen: ('state' | 'audit' | 'configuration')[]): Targets =>
    restoreTargets(manifest, config, { chosen: new Set(chosen), root: directory, places: undefined });
  const locks = {
    state: () => claimAlone(at('var/lib/signetd/state.sqlite')),
    'the audit log': () => new DirectoryLock(at('var/log/signetd/audit'), 'the audit log'),
    'the account': () => new DirectoryLock(at('var/lib/signetd-token/account'), 'the account of uses'),
  };
  beforeEach(() => {
    for (const path of ['etc/signetd', 'var/lib/signetd', 'var/log/signetd/audit', 'var/lib/signetd-token/account'])
      mkdirSync(at(path), { recursive: true });
  });

  it.each(Object.entries(locks))('keep a service out that has %s, and no others', (name, take) => {
    const held = lockForRestore(manifest, targets('state', 'audit'));
    expect(take).toThrow(/another process|in use|has/);
    held.release();
    const running = take();
    expect(() => lockForRestore(manifest, targets('state', 'audit'))).toThrow(/another process|in use|has/);
    // What was taken before the one that failed is free again.
    for (const [other, takeOther] of Object.entries(locks)) if (other !== name) takeOther().release();
    const parts = name === 'state' ? (['audit'] as const) : (['state'] as const);
    lockForRestore(manifest, targets(...parts, 'configuration')).release();
    running.release();
  });

  it('have files that are only for their owner', () => {
    lockForRestore(manifest, targets('state', 'audit')).release();
    const paths = ['var/lib/signetd/state.sqlite-lock', 'var/log/signetd/audit/lock', 'var/lib/signetd-token/account/lock'];
    expect(lockFiles(manifest, targets('state', 'audit'))).toEqual(paths.map(at));
    expect(lockFiles(manifest, targets('state'))).toEqual(paths.slice(0, 1).map(at));
    expect(lockFiles(manifest, targets('configuration'))).toEqual([]);
    for (const path of paths) expect((statSync(at(path)).mode & 0o777).toString(8)).toBe('600');
    expect(existsSync(at('var/lib/signetd/state.sqlite'))).toBe(false);
  });
});

describe('the work directory', () => {
  it('is only for its owner, and leaves nothing', async () => {
    const work = new WorkDirectory(directory);
    const path = await work.write('inner', 'file', bytesOf(x));
    expect([path, readFileSync(path, 'utf8')]).toEqual([join(work.path, 'inner', 'file'), 'x']);
    for (const [one, mode] of [
      [work.path, '700'],
      [join(work.path, 'inner'), '700'],
      [path, '600'],
    ] as const)
      expect((statSync(one).mode & 0o777).toString(8)).toBe(mode);
    await expect(work.write('inner', 'file', bytesOf(x))).rejects.toThrow('EEXIST');
    await expect(writeNew(path, bytesOf(x))).rejects.toThrow('EEXIST');
    const listeners = process.listenerCount('SIGTERM');
    work.remove();
    expect([readdirSync(directory), process.listenerCount('SIGTERM')]).toEqual([[], listeners - 1]);
  });
});
