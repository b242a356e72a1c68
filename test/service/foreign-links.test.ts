import { execFileSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { own } from '../../src/backup/owners.ts';
import { DirectoryLock } from '../../src/service/directory-lock.ts';
import { asOwnerOf } from '../../src/service/file-owner.ts';
import { refuseForeignLinks } from '../../src/service/foreign-links.ts';
import { SqliteSnapshot } from '../../src/state/snapshot/sqlite-snapshot.ts';
import { claimAlone, SqliteDatabase } from '../../src/state/sqlite/sqlite-database.ts';
import { openSqliteStore } from '../../src/state/threaded-store.ts';
import { notRoot, skipNote } from '../support/skip-note.ts';

const [uid, gid] = [65_534, 65_534];
let work: string;
/** Belongs to the other user. */
let theirs: string;
/** In a directory of root; it does not exist. */
let target: string;

beforeEach(() => {
  work = mkdtempSync(join(tmpdir(), 'foreign-links-'));
  theirs = join(work, 'theirs');
  target = join(work, 'target');
  mkdirSync(theirs);
  if (notRoot === undefined) chownSync(theirs, uid, gid);
});

afterEach(() => {
  rmSync(work, { recursive: true });
});

/** The other user makes a symbolic link in their directory. */
function link(name: string, to: string): string {
  const path = join(theirs, name);
  symlinkSync(to, path);
  lchownSync(path, uid, gid);
  return path;
}

describe.skipIf(notRoot !== undefined)(`a symbolic link that another user has put into their directory${skipNote(notRoot)}`, () => {
  it('makes root create no database and no lock elsewhere', async () => {
    link('lock', target);
    expect(() => new DirectoryLock(theirs, 'the audit log')).toThrow('which root does not follow');
    link('state.sqlite', target);
    await expect(SqliteDatabase.open(join(theirs, 'state.sqlite'))).rejects.toThrow('which root does not follow');
    link('other.sqlite-lock', target);
    expect(() => claimAlone(join(theirs, 'other.sqlite'))).toThrow('which root does not follow');
    expect(existsSync(target)).toBe(false);
  });

  it('leads nowhere even if it is put there after root has looked', () => {
    const lock = join(theirs, 'lock');
    expect(() =>
      asOwnerOf(theirs, () => {
        link('lock', target);
        new DatabaseSync(lock).exec('PRAGMA user_version = 1');
      }),
    ).toThrow('unable to open database file');
    expect(existsSync(target)).toBe(false);
    writeFileSync(target, '');
    expect(statSync(target).uid).toBe(0);
  });

  it('changes no group of root if root cannot become that user', () => {
    const program = `
      import { readFileSync } from 'node:fs';
      import { asOwnerOf } from './src/service/file-owner.ts';
      const groups = () => readFileSync('/proc/thread-self/status', 'utf8').match(/^(Gid|Groups):.*/gm).join();
      try {
        asOwnerOf(process.argv[1], () => console.log('root has become that user'));
      } catch (error) {
        console.log(error.message, groups());
      }`;
    const node = [process.execPath, '--disable-sigusr1', '--no-warnings', '--input-type=module', '--eval', program, theirs];
    const printed = execFileSync('setpriv', ['--bounding-set=-setuid', '--groups=0,1', ...node], { encoding: 'utf8' });
    expect(printed.trim()).toBe('Operation not permitted Gid:\t0\t0\t0\t0,Groups:\t0 1');
  });

  it('is useless in the way to a directory', () => {
    const roots = join(work, 'roots');
    mkdirSync(roots);
    const way = link('way', roots);
    expect(() => {
      asOwnerOf(way, () => {
        writeFileSync(join(way, 'new'), '');
      });
    }).toThrow('EACCES');
    expect(readdirSync(roots)).toEqual([]);
  });

  it('cannot be in the way of the state store, whose files root makes as that user', async () => {
    const store = await openSqliteStore(join(theirs, 'state.sqlite'));
    const owners = readdirSync(theirs).map((name) => [name, statSync(join(theirs, name)).uid]);
    expect(owners).toEqual(['state.sqlite', 'state.sqlite-lock', 'state.sqlite-shm', 'state.sqlite-wal'].map((name) => [name, uid]));
    // The other threads are still root.
    await writeFile(target, '');
    expect(statSync(target).uid).toBe(0);
    await store.close();
  });

  it('gives nothing elsewhere to the owner of a restored file', () => {
    writeFileSync(target, '');
    const path = link('restored', target);
    expect(() => own(path, { user: String(uid), group: String(gid), mode: 0o666 })).toThrow('ELOOP');
    expect(statSync(target).uid).toBe(0);
  });

  it('cannot take the place of a copy for a backup, which is made elsewhere', async () => {
    const path = join(theirs, 'state.sqlite');
    await (await SqliteDatabase.open(path)).close();
    const snapshot = await SqliteSnapshot.open(path);
    const watcher = watch(theirs);
    const seen: string[] = [];
    watcher.on('change', (_event, name) => seen.push(String(name)));
    let bytes = 0;
    for await (const { content } of snapshot.files()) for await (const chunk of content) bytes += chunk.length;
    await snapshot.close();
    watcher.close();
    expect([bytes, seen.filter((name) => name.endsWith('.backup'))]).toEqual([statSync(path).size, []]);
  });

  it('is followed if root made it', () => {
    const path = join(theirs, 'lock');
    symlinkSync(target, path);
    expect(() => {
      refuseForeignLinks(path);
    }).not.toThrow();
  });
});
