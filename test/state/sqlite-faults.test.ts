import { execFileSync } from 'node:child_process';
import { closeSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, openSync, rmSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { StateConfig } from '../../src/config/state-config.ts';
import { openSqliteStore, readStateStore } from '../../src/state/threaded-store.ts';
import { StoreUnavailable } from '../../src/state/store-unavailable.ts';
import { step } from '../../src/state/step.ts';
import { storedKey } from './rows.ts';

let directory: string;
const mounts: string[] = [];

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-state-'));
});

afterAll(() => {
  for (const mount of mounts) execFileSync('umount', ['--lazy', mount]);
  rmSync(directory, { recursive: true, force: true });
});

/** A file system of a few megabytes; undefined where this process may not mount one. */
function smallFileSystem(name: string): string | undefined {
  const path = join(directory, name);
  mkdirSync(path);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', path], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  mounts.push(path);
  return path;
}

/** Takes all the space that is left. */
function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (let size = 65_536; size > 0; size = Math.floor(size / 2)) {
      try {
        for (;;) writeSync(file, Buffer.alloc(size));
      } catch {
        // Smaller pieces may still fit.
      }
    }
  } finally {
    closeSync(file);
  }
}

const cannotMount = 'this process may not mount a file system (it has to be root)';
const record = (id: number): { id: string; created_at: number; record: string } => ({
  id: String(id),
  created_at: id,
  record: 'x'.repeat(20_000),
});

describe('the embedded store', () => {
  it('says STORE_FULL while the disk is full, reads on, and writes again when there is space, with all that it confirmed', async (test) => {
    const disk = smallFileSystem('full');
    if (disk === undefined) {
      test.skip(cannotMount);
      return;
    }
    const store = await openSqliteStore(join(disk, 'state.sqlite'));
    const reference = await storedKey(store);
    fill(join(disk, 'filler'));
    const stored: string[] = [];
    let refused = 0;
    for (let id = 0; id < 100 && refused < 3; id += 1) {
      const outcome = await store.run('addAuditRecord', record(id)).catch((error: unknown) => error);
      if (outcome === undefined) stored.push(String(id));
      else {
        expect(outcome).toMatchObject({ code: 'STORE_FULL' });
        refused += 1;
      }
    }
    expect(refused).toBe(3);
    expect(await store.run('findKey', reference)).toMatchObject({ reference });
    // Several at once: each gets an answer of its own.
    const together = await Promise.allSettled([store.run('addAuditRecord', record(200)), store.run('findKey', reference)]);
    expect(together.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    rmSync(join(disk, 'filler'));
    await store.run('addAuditRecord', record(201));
    expect((await store.run('listAuditRecords', { limit: 1000 })).map(({ id }) => id)).toEqual([...stored, '201']);
    await store.close();
  });

  it.each(['once', 'twice'])('does not open on a full disk, also for reading, and says that the disk is full, %s', async (time) => {
    const disk = smallFileSystem(`full-at-opening-${time}`);
    if (disk === undefined) return;
    const path = join(disk, 'state.sqlite');
    await (await openSqliteStore(path)).close();
    fill(join(disk, 'filler'));
    const full = `the disk of ${disk} is full, with 0 KiB left: free space on it`;
    await expect(openSqliteStore(path)).rejects.toThrow(full);
    await expect(readStateStore(StateConfig.parse({ kind: 'sqlite', path }))).rejects.toThrow(full);
    await expect(openSqliteStore(join(disk, 'new.sqlite'))).rejects.toThrow(full);
    rmSync(join(disk, 'filler'));
    await (await openSqliteStore(path)).close();
  });

  it('does not open on a file system that cannot be written, and says so', async (test) => {
    const disk = smallFileSystem('read-only');
    if (disk === undefined) {
      test.skip(cannotMount);
      return;
    }
    const path = join(disk, 'state.sqlite');
    await (await openSqliteStore(path)).close();
    execFileSync('mount', ['-o', 'remount,ro', disk]);
    await expect(openSqliteStore(path)).rejects.toThrow(`${path}: `);
    execFileSync('mount', ['-o', 'remount,rw', disk]);
    await (await openSqliteStore(path)).close();
  });

  it('is unavailable while its file is damaged, and works again when the file is repaired', async () => {
    const path = join(directory, 'damaged.sqlite');
    const store = await openSqliteStore(path);
    const reference = await storedKey(store);
    await store.close();
    const whole = `${path}.whole`;
    copyFileSync(path, whole);
    const again = await openSqliteStore(path);
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(statSync(path).size - 4096, 0xa5), 0, undefined, 4096);
    closeSync(file);
    await expect(again.run('findKey', reference)).rejects.toThrow(StoreUnavailable);
    await expect(again.run('probe')).rejects.toThrow(StoreUnavailable);
    copyFileSync(whole, path);
    expect(await again.run('findKey', reference)).toMatchObject({ reference });
    await again.run('probe');
    await again.close();
  });

  it('does not create an empty database in place of a removed one', async () => {
    const path = join(directory, 'damaged-and-gone.sqlite');
    const store = await openSqliteStore(path);
    await storedKey(store);
    await store.close();
    const again = await openSqliteStore(path);
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(statSync(path).size, 0xa5));
    closeSync(file);
    await expect(again.run('journal')).rejects.toThrow(StoreUnavailable);
    for (const ending of ['', '-wal', '-shm']) rmSync(path + ending, { force: true });
    await expect(again.run('journal')).rejects.toThrow();
    expect(existsSync(path)).toBe(false);
    await again.close();
  });

  it('reports that a file is not a database, and that a directory is missing', async () => {
    writeFileSync(join(directory, 'text.sqlite'), 'this is no database, and long enough to be read as a header of one'.repeat(20));
    await expect(openSqliteStore(join(directory, 'text.sqlite'))).rejects.toThrow('not a database');
    await expect(openSqliteStore(join(directory, 'nowhere', 'state.sqlite'))).rejects.toThrow('unable to open');
  });

  it('belongs to one process, and can be read by a backup meanwhile', async () => {
    const path = join(directory, 'one.sqlite');
    const store = await openSqliteStore(path);
    const reference = await storedKey(store);
    await expect(openSqliteStore(path)).rejects.toThrow('another process has this state store open');
    const reader = new DatabaseSync(path, { readOnly: true });
    expect(reader.prepare('select reference from keys').all()).toEqual([{ reference }]);
    reader.close();
    // SQLite begins no writer on a read-only connection.
    const look = await readStateStore(StateConfig.parse({ path }));
    expect(await look.run('countSecrets')).toBe(1);
    await look.close();
    await store.close();
    await (await openSqliteStore(path)).close();
  });

  it('waits for a program that is writing, in work that reads first too', async () => {
    const path = join(directory, 'shared.sqlite');
    const store = await openSqliteStore(path);
    const reference = await storedKey(store);
    const other = new DatabaseSync(path);
    other.exec('begin immediate; update keys set failures_in_row = 1;');
    const change = { reference, from: ['ACTIVE'], to: 'REMOVED', destroys: true, now: 1 } as const;
    const work = store.commit([step('findKey', reference), step('changeKeyState', change)]);
    await delay(300);
    other.exec('commit');
    other.close();
    expect((await work)[1]).toBe(true);
    await store.close();
  });

  it('refuses a schema that is newer than the program', async () => {
    const path = join(directory, 'newer.sqlite');
    await (await openSqliteStore(path)).close();
    const database = new DatabaseSync(path);
    database.exec("insert into kysely_migration values ('9999-future', '2030-01-01T00:00:00Z')");
    database.close();
    await expect(openSqliteStore(path)).rejects.toThrow('newer than this program (unknown migrations: 9999-future)');
  });
});
