import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { beginning, chainedLine, entryBody, lineHash } from '../../src/audit/line.ts';
import { fileName } from '../../src/audit/file-names.ts';
import type { Entry } from '../../src/audit/record.ts';
import { createBackup, type Made } from '../../src/backup/create-backup.ts';
import { decrypterWith } from '../../src/backup/operator-keys.ts';
import type { Manifest } from '../../src/backup/manifest.ts';
import { readBackup } from '../../src/backup/read-backup.ts';
import { verifyBackup } from '../../src/backup/verify-backup.ts';
import { WorkDirectory } from '../../src/backup/work-directory.ts';
import { loadConfig, type Config } from '../../src/config/config.ts';
import { storedKey } from '../state/rows.ts';
import { StoreHere } from '../support/store-here.ts';
import { archive, configurationText, encrypted } from './made-backup.ts';

let directory: string;
let identity: string;
const at = (...names: readonly string[]): string => join(directory, ...names);

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-created-'));
  identity = at('identity');
  writeFileSync(identity, await generateX25519Identity(), { mode: 0o600 });
  for (const name of ['etc/tls', 'state/transfer', 'audit', 'account']) mkdirSync(at(name), { recursive: true });
  for (const name of ['tls/server.pem', 'tls/client-ca.pem', 'ca.pem']) writeFileSync(at('etc', name), `content of ${name}`);
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

function configuration(more = ''): Config {
  const text = configurationText({ directory: at('etc'), state: at('state'), audit: at('audit'), more });
  writeFileSync(at('etc', 'signetd.yaml'), text.replace('host: external', `host: external, accountDirectory: ${at('account')}`));
  return loadConfig(at('etc', 'signetd.yaml'));
}

/** Of a file descriptor; that of the listing itself is gone by now. */
function targetOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return '';
  }
}

const time = '2026-03-02T10:15:30.123Z';

/** Writes a log of a file for each list of records, and answers the text of each. */
function writeLog(...files: readonly (readonly Entry[])[]): string[] {
  let place = beginning;
  return files.map((entries, index) => {
    const lines = entries.map((entry) => {
      const line = chainedLine(place, time, entryBody(entry));
      place = { n: place.n + 1, hash: lineHash(line) };
      return `${line}\n`;
    });
    writeFileSync(at('audit', fileName(index + 1)), lines.join(''));
    return lines.join('');
  });
}
const opening = (file: number): Entry => ({ kind: 'open', log: 'signetd', file, publicKey: '' });
/** A record of a commit that the state store does not have. */
const unknown: Entry = {
  ...{ kind: 'request', request: 'unknown', client: 'app', tenant: 'demo', spki: '', address: '', operation: 'pki/removeKey' },
  ...{ major: 0, minor: 0, effects: [{ effect: 'the key is removed' }] },
};

interface Remade {
  readonly log: Buffer;
  readonly audit: NonNullable<Manifest['audit']>;
}

/** Records of commits that no state has, to follow a log of one record. */
function laterLines(log: Buffer): Buffer {
  const place = { n: 2, hash: lineHash(log.toString().trimEnd()) };
  return Buffer.from(`${chainedLine(place, time, entryBody(unknown))}\n`);
}

/** A state store with one key, whose reference it answers. */
async function writeState(): Promise<string> {
  const store = await StoreHere.open(at('state', 'state.sqlite'));
  const reference = await storedKey(store);
  await store.close();
  return reference;
}

async function backup(config: Config, more: Partial<Parameters<typeof createBackup>[0]> = {}): Promise<Made> {
  const encrypter = new Encrypter();
  encrypter.addRecipient(await identityToRecipient(readFileSync(identity, 'utf8')));
  const usual = { withAccount: false, withTransferStore: false, isRunning: false, point: undefined, tokenSerial: undefined };
  return createBackup({
    ...{ configPath: at('etc', 'signetd.yaml'), config, output: at('backup.age'), encrypter, progress: () => undefined },
    ...usual,
    ...more,
  });
}

/** What a backup has, by names, once it has been read to its end. */
async function contents(): Promise<Record<string, Buffer>> {
  const found: Record<string, Buffer> = {};
  const file = { path: at('backup.age'), decrypter: decrypterWith(identity), sha256: undefined };
  await readBackup(
    file,
    async (name, content) => {
      const pieces: Uint8Array[] = [];
      for await (const piece of content) pieces.push(piece);
      found[name] = Buffer.concat(pieces);
    },
    () => undefined,
  );
  return found;
}

describe('a backup', () => {
  it('has the configuration with its files, the state, the log as far as the state goes, and the keys', async () => {
    const reference = await writeState();
    const [first = '', second = ''] = writeLog([opening(1)], [opening(2), unknown, unknown]);
    const config = configuration();
    const made = await backup(config, { isRunning: true, tokenSerial: 'serial 1' });
    const found = await contents();
    const ofConfiguration = ['signetd.yaml', 'tls/server.pem', 'tls/client-ca.pem', 'ca.pem'].map(
      (name) => `configuration${at('etc', name)}`,
    );
    expect(Object.keys(found)).toEqual([
      ...['README.txt', ...ofConfiguration, 'state/state.sqlite', 'audit/audit-00000001.jsonl', 'audit/audit-00000002.jsonl'],
      'token-keys.jsonl',
    ]);
    for (const name of ofConfiguration) expect(found[name]).toEqual(readFileSync(name.slice('configuration'.length)));
    expect(found['audit/audit-00000001.jsonl']?.toString()).toBe(first);
    // The state does not have what the later records tell.
    expect(found['audit/audit-00000002.jsonl']?.toString()).toBe(second.slice(0, second.indexOf('\n') + 1));
    expect([made.later, made.vanished]).toEqual([2, 0]);
    const keys = (found['token-keys.jsonl']?.toString() ?? '').split('\n');
    expect([keys.length, keys.at(-1)]).toEqual([2, '']);
    expect(JSON.parse(keys[0] ?? '')).toMatchObject({ name: reference, tenant: 'demo', use: 'caller' });
    expect(found['README.txt']?.toString()).toContain('age');
  });

  it('has a manifest that says what it is of', async () => {
    await writeState();
    writeLog([opening(1)]);
    const { manifest } = await backup(configuration(), { isRunning: true, tokenSerial: 'serial 1' });
    expect(manifest).toMatchObject({
      ...{ format: 'signetd backup', formatVersion: 1, host: hostname(), running: true, configuration: at('etc', 'signetd.yaml') },
      ...{ versions: { node: process.versions.node }, token: { label: 'prod', serial: 'serial 1', keys: 1 } },
      ...{ state: { kind: 'sqlite' }, account: null, transfer: null },
      audit: { name: 'signetd', directory: at('audit'), from: 'audit-00000001.jsonl', last: { n: 1 }, head: null, publicKeys: [] },
      secrets: [
        { member: 'listeners.api.key', reference: 'credential:tls-key' },
        { member: 'token.pin', reference: 'credential:pin' },
      ],
    });
    expect(manifest.state.migrations.length).toBeGreaterThan(10);
    expect(Date.now() - Date.parse(manifest.time)).toBeLessThan(60_000);
    const paths = manifest.directories.map(({ path }) => path);
    expect(paths.toSorted()).toEqual([at('audit'), at('etc'), at('etc', 'tls'), at('state')]);
    const part = manifest.parts.find(({ kind }) => kind === 'state');
    expect(part).toMatchObject({ path: at('state', 'state.sqlite'), mode: statSync(at('state', 'state.sqlite')).mode & 0o7777 });
    expect(manifest.parts.find(({ name }) => name === 'token-keys.jsonl')).toMatchObject({ kind: 'about', path: null, mode: 0o600 });
  });

  it('has no log where there is none, and no serial number of a token that is not known', async () => {
    await writeState();
    const config = configuration();
    const made = await backup({ ...config, audit: { ...config.audit, enabled: false } });
    expect(made).toMatchObject({ later: 0, manifest: { audit: null, running: false, token: { serial: null } } });
    expect(Object.keys(await contents()).filter((name) => name.startsWith('audit/'))).toEqual([]);
  });

  it('has the account of the token host and the transfer store only if they are wanted', async () => {
    await writeState();
    writeLog([opening(1)]);
    const id = 'a'.repeat(43);
    const files = { [id]: 'uploaded', [`${id.slice(1)}1`]: '', 'other.txt': 'not one of them', [`${id}.part`]: 'unfinished' };
    for (const [name, text] of Object.entries(files)) writeFileSync(at('state', 'transfer', name), text);
    const line = `{"n":1,"time":"${time}","previous":"${'0'.repeat(64)}","start":{}}\n`;
    writeFileSync(at('account', 'account-0-00000001.jsonl'), `${line}{"n":2,"ti`);
    const config = configuration();
    expect((await backup(config)).manifest).toMatchObject({ account: null, transfer: null });
    expect(Object.keys(await contents()).filter((name) => /^(?:account|transfer)/.test(name))).toEqual([]);
    const { manifest, vanished } = await backup(config, { withAccount: true, withTransferStore: true, output: at('second.age') });
    expect([manifest.account, manifest.transfer, vanished]).toEqual([{ directory: at('account') }, { directory: at('state/transfer') }, 0]);
    const parts = manifest.parts.filter(({ kind }) => kind === 'account' || kind === 'transfer');
    expect(parts.map(({ name, bytes }) => [name, bytes])).toEqual([
      ['account/account-0-00000001.jsonl', line.length],
      ...[id, `${id.slice(1)}1`].toSorted().map((name) => [`transfer/${name}`, files[name]?.length]),
    ]);
  });

  it('leaves no file open, whether it is made or not', async () => {
    const opened = (): string[] =>
      readdirSync('/proc/self/fd')
        .map(targetOf)
        .filter((path) => path.startsWith(directory));
    await writeState();
    writeLog([opening(1)]);
    const config = configuration();
    await backup(config);
    expect(opened()).toEqual([]);
    await expect(backup(config)).rejects.toThrow('EEXIST');
    expect(opened()).toEqual([]);
    rmSync(at('audit'), { recursive: true });
    writeFileSync(at('audit'), 'no directory');
    await expect(backup(config, { output: at('other.age') })).rejects.toThrow('ENOTDIR');
    expect(opened()).toEqual([]);
  });

  it('is not made without a state, and nothing is left of it', async () => {
    await expect(backup(configuration())).rejects.toThrow();
    expect(existsSync(at('backup.age'))).toBe(false);
  });
});

const notOneMoment = 'state and audit log are not those of one moment';

it.each<[string, string | undefined, (made: Remade) => Remade]>([
  ['as it was made', undefined, (made) => made],
  [
    'with a log whose later records the state lacks',
    notOneMoment,
    ({ log, audit }) => ({ log: Buffer.concat([log, laterLines(log)]), audit }),
  ],
  ['with another last record', notOneMoment, ({ log, audit }) => ({ log, audit: { ...audit, last: { n: 1, hash: 'a'.repeat(64) } } })],
  [
    'with the head of another state',
    notOneMoment,
    ({ log, audit }) => ({ log, audit: { ...audit, head: { file: 1, n: 1, hash: 'a'.repeat(64) } } }),
  ],
])('the state and the log of a backup are of one moment: %s', async (_how, fault, change) => {
  await writeState();
  writeLog([opening(1)]);
  const { manifest } = await backup(configuration());
  const found = await contents();
  const name = `audit/${fileName(1)}`;
  const log = found[name];
  if (manifest.audit === null || log === undefined) throw new Error('the backup has a log');
  const remade = change({ log, audit: manifest.audit });
  const sha256 = createHash('sha256').update(remade.log).digest('hex');
  const parts = manifest.parts.map((part) => (part.name === name ? { ...part, bytes: remade.log.length, sha256 } : part));
  const ofManifest = Buffer.from(JSON.stringify({ ...manifest, parts, audit: remade.audit }));
  const entries = Object.entries({ ...found, [name]: remade.log, 'manifest.json': ofManifest });
  const path = at('remade.age');
  await encrypted(
    path,
    await identityToRecipient(readFileSync(identity, 'utf8')),
    archive(entries.map(([of, content]) => ({ name: of, content }))),
  );
  const work = new WorkDirectory(directory);
  try {
    const { faults } = await verifyBackup(
      { path, decrypter: decrypterWith(identity), sha256: undefined },
      { work, progress: () => undefined },
    );
    expect(faults.filter((one) => one === notOneMoment)).toEqual(fault === undefined ? [] : [fault]);
  } finally {
    work.remove();
  }
});

it('the private key of a backup is read from standard input, too', () => {
  const script = `import { decrypterWith } from ${JSON.stringify(resolve('src/backup/operator-keys.ts'))}; decrypterWith('-'); console.log('read');`;
  const run = (input: string): string =>
    execFileSync(process.execPath, ['--disable-sigusr1', '--input-type=module', '--eval', script], {
      input,
      encoding: 'utf8',
      stdio: 'pipe',
    });
  expect(run(readFileSync(identity, 'utf8'))).toBe('read\n');
  expect(() => run('nonsense')).toThrow('not a private key of age');
});
