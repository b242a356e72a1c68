import { chmodSync, linkSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { renameSync, symlinkSync, truncateSync, unlinkSync, utimesSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { closing, openPlace } from '../../src/documents/paths/descriptors.ts';
import {
  EvidenceGone,
  finalNames,
  giveWithoutLink,
  isTaken,
  publishFile,
  removeStaged,
  syncNames,
} from '../../src/documents/paths/file-publication.ts';
import { hasChanged, openForReading } from '../../src/documents/paths/read-path.ts';
import { findPlace } from '../../src/documents/paths/walk.ts';
import { Refusal } from '../../src/result-codes.ts';

let base: string;
beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'signetd-walks-')));
  writeFileSync(join(base, 'file'), 'content');
});
afterEach(() => {
  rmSync(base, { recursive: true, force: true });
});

const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

/** What a path leads to, or the code that it is refused with. */
async function found(path: string, allowed: readonly string[] = [base]): Promise<string> {
  try {
    const { handle, isDirectory } = await findPlace(path, allowed, { at: '/x', what: 'file' });
    await handle.close();
    return isDirectory ? 'directory' : 'file';
  } catch (error) {
    if (error instanceof Refusal && error.at === '/x') return error.code;
    throw error;
  }
}

describe('a path', () => {
  it('leads over 40 links, and not over one more', async () => {
    const chain = (length: number): string => {
      for (let link = 1; link <= length; link += 1)
        symlinkSync(link === 1 ? 'file' : `${length}-${link - 1}`, join(base, `${length}-${link}`));
      return join(base, `${length}-${length}`);
    };
    expect([await found(chain(40)), await found(chain(41))]).toEqual(['file', 'FILE_ACCESS_DENIED']);
  });

  it('begins at the longest allowed directory that it is in, wherever that stands in the list', async () => {
    const inner = join(base, 'inner');
    const real = join(base, 'real');
    mkdirSync(real);
    writeFileSync(join(real, 'deep'), '');
    symlinkSync(real, inner);
    // The inner one is configured: its own name may be a link.
    for (const allowed of [
      [base, inner],
      [inner, base],
    ])
      expect(await found(join(inner, 'deep'), allowed)).toBe('file');
    expect(await found(join(inner, '..', 'file'), [inner])).toBe('FILE_ACCESS_DENIED');
    expect(await found(join(inner, 'deep'), [`${inner}x`])).toBe('FILE_ACCESS_DENIED');
  });

  it('ends where a file stands in the way, and leads through directories by . and ..', async () => {
    mkdirSync(join(base, 'a', 'b'), { recursive: true });
    expect([await found(base), await found(`${base}/a/./b/..//b/../../file`), await found(join(base, 'file', 'x'))]).toEqual([
      ...['directory', 'file', 'FILE_NOT_FOUND'],
    ]);
    // What leaves the allowed directory does not come back.
    expect([await found(`${base}/..`), await found(`${base}/../${base.split('/').at(-1) ?? ''}/file`)]).toEqual([
      ...['FILE_ACCESS_DENIED', 'FILE_ACCESS_DENIED'],
    ]);
    expect([await found(`${base}/a/../..`), await found(`${base.slice(1)}/file`), await found(`${base}/file\0`)]).toEqual([
      ...['FILE_ACCESS_DENIED', 'FILE_ACCESS_DENIED', 'FILE_ACCESS_DENIED'],
    ]);
  });

  it('leaves no descriptor behind, whatever it leads to', async () => {
    symlinkSync('/', join(base, 'out'));
    symlinkSync('gone', join(base, 'dangling'));
    const before = openDescriptors();
    for (const path of ['file', '', 'missing', 'out', 'dangling', 'file/x', '..', 'out/etc']) await found(`${base}/${path}`);
    expect(openDescriptors()).toBe(before);
  });
});

describe('a file that is read', () => {
  const read = async (path: string): Promise<string> => {
    try {
      const { handle } = await openForReading(path, [base], '/x');
      return await closing(handle, async () => handle.readFile('utf8'));
    } catch (error) {
      if (error instanceof Refusal) return error.code;
      throw error;
    }
  };

  it('has one name and is a regular one', async () => {
    expect(await read(join(base, 'file'))).toBe('content');
    linkSync(join(base, 'file'), join(base, 'second'));
    expect(await read(join(base, 'file'))).toBe('FILE_ACCESS_DENIED');
    unlinkSync(join(base, 'second'));
    expect([await read(join(base, 'file')), await read(base)]).toEqual(['content', 'FILE_ACCESS_DENIED']);
  });

  it('has changed if its size or its time is another', async () => {
    const before = openDescriptors();
    const changedBy = async (change: (path: string) => void): Promise<boolean> => {
      writeFileSync(join(base, 'file'), 'content');
      utimesSync(join(base, 'file'), 1, 1);
      const file = await openForReading(join(base, 'file'), [base], '/x');
      return closing(file.handle, async () => {
        change(join(base, 'file'));
        return hasChanged(file);
      });
    };
    expect(await changedBy(() => undefined)).toBe(false);
    expect(
      await changedBy((path) => {
        chmodSync(path, 0o600);
      }),
    ).toBe(false);
    expect(
      await changedBy((path) => {
        utimesSync(path, 1, 2);
      }),
    ).toBe(true);
    expect(
      await changedBy((path) => {
        truncateSync(path, 3);
        utimesSync(path, 1, 1);
      }),
    ).toBe(true);
    expect(openDescriptors()).toBe(before);
  });
});

describe('evidence under its final name', () => {
  const inPlace = async <T>(work: (place: FileHandle) => Promise<T>): Promise<T> => {
    const place = await openPlace(base);
    return closing(place, async () => work(place));
  };
  const names = async (count: number, fileName = 'a', ending = '.p7s'): Promise<string[]> =>
    inPlace(async (place) => {
      const all: string[] = [];
      for await (const name of finalNames(place, fileName, ending, '/x')) {
        all.push(name);
        if (all.length === count) break;
      }
      return all;
    });
  const stage = (staged: string, content = 'evidence', name = 'a.p7s') => {
    writeFileSync(join(base, staged), content, { mode: 0o600 });
    const inode = String(lstatSync(join(base, staged), { bigint: true }).ino);
    return { staged, inode, fileName: 'a', ending: '.p7s', name };
  };
  const publish = async (file: ReturnType<typeof stage>, mayTake: (name: string) => boolean = () => true): Promise<string> =>
    inPlace(async (place) => publishFile(place, file, { mode: 0o640, at: '/x', mayTake }));

  it('has the next number, and behind 15 of them the one behind the highest', async () => {
    const numbered = (from: number, count: number): string[] => Array.from({ length: count }, (_, index) => `a (${from + index}).p7s`);
    expect(await names(17)).toEqual(['a.p7s', ...numbered(1, 14), ...numbered(16, 2)]);
    for (const other of ['a (700).p7s', 'a (800).p7', 'b (900).p7s', 'a (9000000).p7s', 'a(950).p7s', 'a (x).p7s'])
      writeFileSync(join(base, other), '');
    expect((await names(17)).slice(15)).toEqual(numbered(701, 2));
    const long = 'x'.repeat(251);
    writeFileSync(join(base, `${'x'.repeat(245)} (500).p7s`), '');
    expect((await names(16, long)).at(-1)).toBe(`${'x'.repeat(245)} (501).p7s`);
  });

  it('has its permissions, and the temporary name until that is removed', async () => {
    const file = stage('temporary');
    expect(await publish(file)).toBe('a.p7s');
    expect([statSync(join(base, 'a.p7s')).mode & 0o777, readFileSync(join(base, 'temporary'), 'utf8')]).toEqual([0o640, 'evidence']);
    await inPlace(async (place) => {
      for (let again = 0; again < 2; again += 1) await removeStaged(place, 'temporary');
      await syncNames(place);
      expect([await isTaken(place, 'a.p7s'), await isTaken(place, 'temporary')]).toEqual([true, false]);
    });
  });

  it('is published once, however often that is tried', async () => {
    const file = stage('temporary');
    expect([await publish(file), await publish(file)]).toEqual(['a.p7s', 'a.p7s']);
    unlinkSync(join(base, 'temporary'));
    expect(await publish(file)).toBe('a.p7s');
    renameSync(join(base, 'a.p7s'), join(base, 'a (12).p7s'));
    expect(await publish(file)).toBe('a (12).p7s');
    renameSync(join(base, 'a (12).p7s'), join(base, 'b.p7s'));
    await expect(publish(file)).rejects.toThrow(EvidenceGone);
  });

  it('takes no name that is taken or planned for others', async () => {
    writeFileSync(join(base, 'a.p7s'), 'of somebody else');
    writeFileSync(join(base, 'a (1).p7s'), 'of somebody else');
    expect(await publish(stage('temporary'), (name) => name !== 'a (2).p7s')).toBe('a (3).p7s');
    expect(readFileSync(join(base, 'a.p7s'), 'utf8')).toBe('of somebody else');
  });

  it('has it in a file system without hard links, too, and overwrites nothing', async () => {
    const [from, path] = [join(base, 'staged'), join(base, 'final')];
    writeFileSync(from, 'evidence');
    expect(await giveWithoutLink(from, path)).toBe(true);
    expect([readdirSync(base).toSorted(), readFileSync(path, 'utf8')]).toEqual([['file', 'final'], 'evidence']);
    writeFileSync(from, 'other');
    expect(await giveWithoutLink(from, path)).toBe(false);
    symlinkSync('nowhere', join(base, 'link'));
    expect(await giveWithoutLink(from, join(base, 'link'))).toBe(false);
    expect([readFileSync(path, 'utf8'), readFileSync(from, 'utf8')]).toEqual(['evidence', 'other']);
    // What could not be given leaves no name behind.
    await expect(giveWithoutLink(join(base, 'gone'), join(base, 'new'))).rejects.toThrow('ENOENT');
    expect(readdirSync(base)).not.toContain('new');
  });

  it('is not another file under the temporary name, nor a link to one', async () => {
    const file = stage('temporary');
    renameSync(join(base, 'temporary'), join(base, 'kept'));
    writeFileSync(join(base, 'temporary'), 'of somebody else', { mode: 0o600 });
    await expect(publish(file)).rejects.toThrow(EvidenceGone);
    expect(statSync(join(base, 'temporary')).mode & 0o777).toBe(0o600);
    unlinkSync(join(base, 'temporary'));
    symlinkSync('kept', join(base, 'temporary'));
    await expect(publish(file)).rejects.toMatchObject({ code: 'ELOOP' });
  });
});
