import { chmodSync, chownSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { Encrypter, generateX25519Identity, identityToRecipient } from 'age-encryption';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createBackup } from '../../src/backup/create-backup.ts';
import type { Manifest } from '../../src/backup/manifest.ts';
import { ownershipOf } from '../../src/backup/owners.ts';
import { loadConfig } from '../../src/config/config.ts';
import { SqliteSnapshot } from '../../src/state/snapshot/sqlite-snapshot.ts';
import { notRoot, skipNote } from '../support/skip-note.ts';
import { StoreHere } from '../support/store-here.ts';
import { configurationText } from './made-backup.ts';

const [uid, gid] = [65_534, 65_533];
let directory: string;
const at = (...names: readonly string[]): string => join(directory, ...names);

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-created-owners-'));
  for (const name of ['etc/tls', 'state/transfer']) mkdirSync(at(name), { recursive: true });
  for (const name of ['tls/server.pem', 'tls/client-ca.pem', 'ca.pem']) writeFileSync(at('etc', name), name);
  writeFileSync(at('state', 'transfer', 'a'.repeat(43)), 'uploaded');
  const store = await StoreHere.open(at('state', 'state.sqlite'));
  await store.close();
});
afterEach(() => {
  rmSync(directory, { recursive: true });
});

async function manifest(): Promise<Manifest> {
  const path = at('etc', 'signetd.yaml');
  writeFileSync(path, configurationText({ directory: at('etc'), state: at('state'), audit: at('audit') }));
  const config = loadConfig(path);
  const encrypter = new Encrypter();
  encrypter.addRecipient(await identityToRecipient(await generateX25519Identity()));
  const made = await createBackup({
    ...{ configPath: path, config: { ...config, audit: { ...config.audit, enabled: false } }, output: at('backup.age'), encrypter },
    ...{ withAccount: false, withTransferStore: true, isRunning: false, point: undefined, tokenSerial: undefined },
    progress: () => undefined,
  });
  return made.manifest;
}

const withPath = ({ parts, directories }: Manifest): { path: string; user: string; group: string; mode: number }[] =>
  [...parts, ...directories].flatMap(({ path, user, group, mode }) => (path === null ? [] : [{ path, user, group, mode }]));

describe('a backup tells of each file and each directory', () => {
  it('its permissions, and those of what it makes itself', async () => {
    for (const [name, mode] of [
      ['etc/tls', 0o710],
      ['etc/tls/server.pem', 0o604],
      ['state', 0o1750],
      ['state/state.sqlite', 0o640],
      ['state/transfer', 0o2700],
      [`state/transfer/${'a'.repeat(43)}`, 0o460],
    ] as const)
      chmodSync(at(name), mode);
    const made = await manifest();
    const told = withPath(made);
    expect(told).toHaveLength(10);
    for (const one of told) expect(one).toEqual({ path: one.path, ...ownershipOf(statSync(one.path)) });
    expect(told.find(({ path }) => path === at('state', 'state.sqlite'))?.mode).toBe(0o640);
    expect(told.find(({ path }) => path === at('state'))?.mode).toBe(0o1750);
    const own = made.parts.filter(({ kind }) => kind === 'about');
    expect(own.map(({ name, path, user, group, mode }) => [name, path, user, group, mode])).toEqual([
      ['README.txt', null, 'root', 'root', 0o600],
      ['token-keys.jsonl', null, 'root', 'root', 0o600],
    ]);
  });

  it.skipIf(notRoot !== undefined)(`its owner and its group${skipNote(notRoot)}`, async () => {
    for (const name of ['etc/tls', 'etc/ca.pem', 'state', 'state/state.sqlite', 'state/transfer']) chownSync(at(name), uid, gid);
    const told = withPath(await manifest());
    const theirs = told.filter(({ user, group }) => user === 'nobody' && group === String(gid)).map(({ path }) => path);
    expect(theirs.toSorted()).toEqual([at('etc/ca.pem'), at('etc/tls'), at('state'), at('state/state.sqlite'), at('state/transfer')]);
    for (const one of told) expect(one).toEqual({ path: one.path, ...ownershipOf(statSync(one.path)) });
  });
});

describe('the copy of a state store is made', () => {
  /** Names of the copy in the directory of the database. */
  async function copies(): Promise<number> {
    const snapshot = await SqliteSnapshot.open(at('state', 'state.sqlite'));
    const listeners = process.listenerCount('exit');
    const watcher = watch(at('state'));
    const seen: string[] = [];
    watcher.on('change', (_event, name) => seen.push(String(name)));
    let bytes = 0;
    for await (const { content } of snapshot.files()) for await (const chunk of content) bytes += chunk.length;
    await snapshot.close();
    expect(process.listenerCount('exit')).toBe(listeners);
    // What the watcher has not told yet.
    await setImmediate();
    watcher.close();
    expect(bytes).toBe(statSync(at('state', 'state.sqlite')).size);
    return seen.filter((name) => name.endsWith('.backup')).length;
  }

  it('beside it, on its disk, in a directory of the same user', async () => {
    expect(await copies()).toBeGreaterThan(0);
  });

  it.skipIf(notRoot !== undefined)(`elsewhere by root in a directory of another user${skipNote(notRoot)}`, async () => {
    chownSync(at('state'), uid, gid);
    const temporaries = (): string[] => readdirSync('/var/tmp').filter((name) => name.startsWith('signetd-backup-'));
    const before = temporaries();
    const made = new Set<string>();
    const watcher = watch('/var/tmp');
    watcher.on('change', (_event, name) => made.add(String(name)));
    expect(await copies()).toBe(0);
    watcher.close();
    expect([...made].filter((name) => name.startsWith('signetd-backup-')).length).toBeGreaterThan(0);
    // One that another process has made meanwhile does not stay either.
    await expect.poll(() => temporaries().filter((name) => made.has(name) && !before.includes(name))).toEqual([]);
    const other = vi.spyOn(process, 'geteuid').mockReturnValue(uid);
    try {
      expect(await copies()).toBeGreaterThan(0);
    } finally {
      other.mockRestore();
    }
  });
});

it('a snapshot is of the moment when it was opened, whatever is written meanwhile', async () => {
  const path = at('state', 'state.sqlite');
  const migrations = async (snapshot: SqliteSnapshot): Promise<unknown> => {
    for await (const row of snapshot.rows('select count(*) as n from kysely_migration')) return row;
    return undefined;
  };
  const snapshot = await SqliteSnapshot.open(path);
  const before = await migrations(snapshot);
  const database = new DatabaseSync(path);
  database.exec("insert into kysely_migration (name, timestamp) values ('later', 'now')");
  database.close();
  expect(await migrations(snapshot)).toEqual(before);
  await snapshot.close();
  const later = await SqliteSnapshot.open(path);
  expect(await migrations(later)).not.toEqual(before);
  await later.close();
});

describe('a transfer store', () => {
  const transferred = async (): Promise<string[]> =>
    (await manifest()).parts.flatMap(({ kind, name }) => (kind === 'transfer' ? [name] : []));

  it('that does not exist has no files', async () => {
    rmSync(at('state/transfer'), { recursive: true });
    expect(await transferred()).toEqual([]);
  });

  it('that cannot be read is no empty one', async () => {
    rmSync(at('state/transfer'), { recursive: true });
    writeFileSync(at('state/transfer'), '');
    await expect(transferred()).rejects.toThrow('ENOTDIR');
  });
});
