import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
  rmdirSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { closing } from '../../src/documents/paths/descriptors.ts';
import { EvidenceGone } from '../../src/documents/paths/file-publication.ts';
import { OutputDirectory } from '../../src/documents/paths/output-directory.ts';
import { openForReading } from '../../src/documents/paths/read-path.ts';
import { StagedNames } from '../../src/documents/paths/staged-names.ts';
import { Refusal } from '../../src/result-codes.ts';
import { noSmallDisk, SmallDisk } from '../audit/small-disk.ts';
import { recordingLog } from '../support/silent-log.ts';
import { skipNote } from '../support/skip-note.ts';

let base: string;
let allowed: string;
let outside: string;

beforeEach(() => {
  base = realpathSync(mkdtempSync(join(tmpdir(), 'signetd-paths-')));
  allowed = join(base, 'allowed');
  outside = join(base, 'outside');
  mkdirSync(join(allowed, 'below'), { recursive: true });
  mkdirSync(outside);
  writeFileSync(join(allowed, 'file'), 'inside');
  writeFileSync(join(allowed, 'below', 'deep'), 'inside');
  writeFileSync(join(outside, 'secret'), 'secret');
});

afterEach(() => {
  rmSync(base, { recursive: true, force: true });
});

/** What is read at a path, or the code that it is refused with. */
async function read(path: string, lists: readonly string[] = [allowed]): Promise<string> {
  try {
    const { handle } = await openForReading(path, lists, '/x');
    return await closing(handle, async () => handle.readFile('utf8'));
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

const openDescriptors = (): number => readdirSync('/proc/self/fd').length;

describe('a path that is read', () => {
  it.each([
    ['a file', () => join(allowed, 'file')],
    ['a file below', () => join(allowed, 'below', 'deep')],
    ['with steps that go nowhere', () => `${allowed}/./below//../file`],
  ])('is found: %s', async (_what, path) => {
    expect(await read(path())).toBe('inside');
  });

  it('is found by links that stay inside, relative and absolute, in the middle and at the end', async () => {
    symlinkSync('../file', join(allowed, 'below', 'relative'));
    symlinkSync(join(allowed, 'below'), join(allowed, 'absolute'));
    symlinkSync('absolute/relative', join(allowed, 'chain'));
    expect(await read(join(allowed, 'absolute', 'deep'))).toBe('inside');
    expect(await read(join(allowed, 'chain'))).toBe('inside');
  });

  it('is found if the allowed directory is itself behind a link', async () => {
    const name = join(base, 'name');
    symlinkSync(allowed, name);
    symlinkSync(join(allowed, 'file'), join(allowed, 'real'));
    expect(await read(join(name, 'file'), [name])).toBe('inside');
    expect(await read(join(name, 'real'), [name])).toBe('inside');
    expect(await read(join(allowed, 'file'), [name])).toBe('FILE_ACCESS_DENIED');
  });

  it('leads from one allowed directory to another by a link', async () => {
    symlinkSync(join(outside, 'secret'), join(allowed, 'other'));
    expect(await read(join(allowed, 'other'), [allowed, outside])).toBe('secret');
  });

  it.each([
    ['relative', () => 'allowed/file'],
    ['empty', () => ''],
    ['with NUL', () => `${allowed}/file\0`],
    ['elsewhere and there', () => join(outside, 'secret')],
    ['elsewhere and missing', () => join(outside, 'missing')],
    ['up and out', () => `${allowed}/../outside/secret`],
    ['up and out from below', () => `${allowed}/below/../../outside/secret`],
    ['up, out and in again', () => `${allowed}/../allowed/file`],
    ['of a directory with a longer name', () => `${allowed}-too/file`],
    ['of the process itself', () => '/proc/self/environ'],
    ['the allowed directory itself', () => allowed],
    ['a directory', () => join(allowed, 'below')],
  ])('is refused: %s', async (_what, path) => {
    expect(await read(path())).toBe('FILE_ACCESS_DENIED');
  });

  it.each([
    ['missing', () => join(allowed, 'missing')],
    ['missing below a missing one', () => join(allowed, 'missing', 'too')],
    ['below a file', () => join(allowed, 'file', 'below')],
    ['with a name that is too long', () => join(allowed, 'x'.repeat(300))],
  ])('is not found: %s', async (_what, path) => {
    expect(await read(path())).toBe('FILE_NOT_FOUND');
  });

  it('is refused if a link leads out, whether its target exists or not, and if links form a loop', async () => {
    symlinkSync(join(outside, 'secret'), join(allowed, 'out'));
    symlinkSync('../outside', join(allowed, 'away'));
    symlinkSync('/proc/self/environ', join(allowed, 'process'));
    symlinkSync('/proc/self/root', join(allowed, 'root'));
    symlinkSync(join(outside, 'missing'), join(allowed, 'nowhere'));
    symlinkSync('circle', join(allowed, 'circle'));
    symlinkSync('missing', join(allowed, 'dangling'));
    for (const name of ['out', 'away/secret', 'away/missing', 'process', `root${outside}/secret`, 'nowhere', 'circle']) {
      expect(await read(join(allowed, name)), name).toBe('FILE_ACCESS_DENIED');
    }
    expect(await read(join(allowed, 'dangling'))).toBe('FILE_NOT_FOUND');
  });

  it('is refused for a FIFO without waiting for its writer, for a device, for a file with further names', async () => {
    execFileSync('mkfifo', [join(allowed, 'fifo')]);
    expect(await read(join(allowed, 'fifo'))).toBe('FILE_ACCESS_DENIED');
    linkSync(join(outside, 'secret'), join(allowed, 'hard'));
    expect(await read(join(allowed, 'hard'))).toBe('FILE_ACCESS_DENIED');
    expect(await read('/dev/zero', ['/dev'])).toBe('FILE_ACCESS_DENIED');
    if (process.getuid?.() === 0) {
      execFileSync('mknod', [join(allowed, 'zero'), 'c', '1', '5']);
      expect(await read(join(allowed, 'zero'))).toBe('FILE_ACCESS_DENIED');
    }
  });

  it('never leads out while a link is swapped with a directory and a file with a link', async () => {
    const turn = join(base, 'turn');
    mkdirSync(join(outside, 'below'));
    writeFileSync(join(outside, 'below', 'deep'), 'secret');
    const end = { isOver: false };
    const swap = async (): Promise<void> => {
      while (!end.isOver) {
        renameSync(join(allowed, 'below'), turn);
        symlinkSync(join(outside, 'below'), join(allowed, 'below'));
        await new Promise(setImmediate);
        unlinkSync(join(allowed, 'below'));
        renameSync(turn, join(allowed, 'below'));
        unlinkSync(join(allowed, 'file'));
        symlinkSync(join(outside, 'secret'), join(allowed, 'file'));
        await new Promise(setImmediate);
        unlinkSync(join(allowed, 'file'));
        writeFileSync(join(allowed, 'file'), 'inside');
        await new Promise(setImmediate);
      }
    };
    const swapping = swap();
    const outcomes = new Set<string>();
    for (let round = 0; round < 300; round += 1) {
      outcomes.add(await read(join(allowed, round % 2 === 0 ? 'below/deep' : 'file')));
    }
    end.isOver = true;
    await swapping;
    outcomes.delete('');
    expect([...outcomes].filter((outcome) => !['inside', 'FILE_ACCESS_DENIED', 'FILE_NOT_FOUND'].includes(outcome))).toEqual([]);
    expect(outcomes.has('inside')).toBe(true);
  });

  it('is refused if a directory on the way was moved out meanwhile, though each step was inside', async () => {
    mkdirSync(join(allowed, 'below', 'turn'));
    const below = realpathSync(join(allowed, 'below'));
    const isEntered = (): boolean =>
      readdirSync('/proc/self/fd').some((descriptor) => {
        try {
          return readlinkSync(`/proc/self/fd/${descriptor}`) === below;
        } catch {
          return false;
        }
      });
    for (const end of ['deep', '']) {
      // Long enough that the directory is moved while it is walked in.
      const path = `${allowed}/below/${'turn/../'.repeat(1500)}${end}`;
      const reading = end === '' ? openDirectory(path) : read(path);
      while (!isEntered()) await new Promise(setImmediate);
      renameSync(below, join(outside, 'moved'));
      expect(await reading).toBe('FILE_ACCESS_DENIED');
      renameSync(join(outside, 'moved'), below);
    }

    async function openDirectory(path: string): Promise<string> {
      try {
        const directory = await OutputDirectory.open(path, [allowed], { names: new StagedNames('test'), at: '/x', mode: 0o640 });
        await directory.close();
        return 'opened';
      } catch (error) {
        return error instanceof Refusal ? error.code : String(error);
      }
    }
  });

  it('leaves no descriptor open, whatever the path', async () => {
    symlinkSync('below/../../outside', join(allowed, 'away'));
    const before = openDescriptors();
    const step = fc.constantFrom('..', '.', '', 'below', 'file', 'deep', 'away', 'missing', '\0', 'é');
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
        expect(['inside', 'FILE_ACCESS_DENIED', 'FILE_NOT_FOUND']).toContain(await read([allowed, ...steps].join('/')));
      }),
      { numRuns: 300 },
    );
    expect(openDescriptors()).toBe(before);
  });
});

describe('a directory that evidence is written into', () => {
  const names = new StagedNames('test');
  const open = async (path = allowed, lists: readonly string[] = [allowed]): Promise<OutputDirectory> =>
    OutputDirectory.open(path, lists, { names, at: '/x', mode: 0o640 });
  const wanted = { fileName: 'contract.pdf', ending: '.p7s' };
  /** Stages a file; answers its planned name. */
  const write = async (directory: OutputDirectory, text: string, as = wanted): Promise<string> =>
    directory.stage(as, async (file) => {
      await file.writeFile(text);
      await file.sync();
    });
  /** Publishes what is staged under the planned names. */
  const publish = async (directory: OutputDirectory): Promise<void> => {
    expect(await directory.publish()).toEqual(new Map());
    await directory.clear();
  };
  const refusalOf = async (work: Promise<unknown>): Promise<string> =>
    work.then(
      () => 'done',
      (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
    );

  it('that has gone costs no name: what failed is not remembered', async () => {
    class CountedNames extends StagedNames {
      readonly taken = new Set<string>();

      override take(): string {
        const name = super.take();
        this.taken.add(name);
        return name;
      }

      override free(name: string): void {
        super.free(name);
        this.taken.delete(name);
      }
    }
    const counted = new CountedNames('counted');
    const gone = join(allowed, 'gone');
    mkdirSync(gone);
    const directory = await OutputDirectory.open(gone, [allowed], { names: counted, at: '/x', mode: 0o640 });
    rmdirSync(gone);
    expect(await refusalOf(write(directory, 'evidence'))).toBe('FILE_NOT_FOUND');
    await directory.close();
    expect(counted.taken.size).toBe(0);
  });

  it('has the file under its name with its permissions, and nothing beside it', async () => {
    const directory = await open(join(allowed, 'below'));
    expect(await write(directory, 'evidence')).toBe('contract.pdf.p7s');
    const staged = readdirSync(join(allowed, 'below')).toSorted();
    expect(staged).toEqual([expect.stringMatching(/^\.signetd\.test\.[0-9a-f]{32}\.tmp$/), 'deep']);
    expect(statSync(join(allowed, 'below', staged[0] ?? '')).mode & 0o777).toBe(0o600);
    await publish(directory);
    await directory.close();
    expect(readdirSync(join(allowed, 'below')).toSorted()).toEqual(['contract.pdf.p7s', 'deep']);
    expect(readFileSync(join(allowed, 'below', 'contract.pdf.p7s'), 'utf8')).toBe('evidence');
    const { mode, nlink } = statSync(join(allowed, 'below', 'contract.pdf.p7s'));
    expect([mode & 0o777, nlink]).toEqual([0o640, 1]);
  });

  it('overwrites nothing: not a file, not a link that leads nowhere, not a directory; the next number is taken', async () => {
    writeFileSync(join(allowed, 'contract.pdf.p7s'), 'first');
    symlinkSync(join(outside, 'new'), join(allowed, 'contract.pdf (1).p7s'));
    mkdirSync(join(allowed, 'contract.pdf (2).p7s'));
    const directory = await open();
    expect(await write(directory, 'evidence')).toBe('contract.pdf (3).p7s');
    await publish(directory);
    await directory.close();
    expect(readFileSync(join(allowed, 'contract.pdf.p7s'), 'utf8')).toBe('first');
    expect(readdirSync(outside)).toEqual(['secret']);
  });

  it('finds a number among many', async () => {
    for (let number = 0; number < 60; number += 1)
      writeFileSync(join(allowed, number === 0 ? 'contract.pdf.p7s' : `contract.pdf (${number}).p7s`), '');
    const directory = await open();
    const name = await write(directory, 'evidence');
    await publish(directory);
    await directory.close();
    expect(readFileSync(join(allowed, name), 'utf8')).toBe('evidence');
  });

  it('cuts a name that would be too long, between letters', async () => {
    const directory = await open();
    writeFileSync(join(allowed, `${'é'.repeat(125)}.p7s`), '');
    const name = await write(directory, 'evidence', { fileName: 'é'.repeat(127), ending: '.p7s' });
    await publish(directory);
    await directory.close();
    expect(name).toBe(`${'é'.repeat(123)} (1).p7s`);
  });

  it('20 writers of one name: 20 files, each whole', async () => {
    const texts = Array.from({ length: 20 }, (_, index) => `evidence ${index}`);
    const written = await Promise.all(
      texts.map(async (text) => {
        const directory = await open();
        const name = await write(directory, text);
        await publish(directory);
        await directory.close();
        return name;
      }),
    );
    expect(new Set(written).size).toBe(20);
    expect(written.map((name) => readFileSync(join(allowed, name), 'utf8'))).toEqual(texts);
    expect(readdirSync(allowed).filter((name) => name.startsWith('.signetd.'))).toEqual([]);
  });

  it('is refused outside, by a link that leads out, where it is missing or no directory', async () => {
    symlinkSync(outside, join(allowed, 'away'));
    const refused = async (path: string): Promise<string> => refusalOf(open(path));
    expect(await refused(outside)).toBe('FILE_ACCESS_DENIED');
    expect(await refused(join(allowed, 'away'))).toBe('FILE_ACCESS_DENIED');
    expect(await refused(join(allowed, '..'))).toBe('FILE_ACCESS_DENIED');
    expect(await refused(join(allowed, 'missing'))).toBe('FILE_NOT_FOUND');
    expect(await refused(join(allowed, 'file'))).toBe('FILE_NOT_FOUND');
  });

  it('stays the directory that was opened, when its name leads elsewhere', async () => {
    const directory = await open(join(allowed, 'below'));
    renameSync(join(allowed, 'below'), join(allowed, 'moved'));
    symlinkSync(outside, join(allowed, 'below'));
    await write(directory, 'evidence');
    await publish(directory);
    await directory.close();
    expect(readdirSync(outside)).toEqual(['secret']);
    expect(readdirSync(join(allowed, 'moved')).toSorted()).toEqual(['contract.pdf.p7s', 'deep']);
  });

  it('is as it was where what is staged is not published', async () => {
    const directory = await open(join(allowed, 'below'));
    expect([await write(directory, 'one'), await write(directory, 'two')]).toEqual(['contract.pdf.p7s', 'contract.pdf (1).p7s']);
    await directory.clear();
    await directory.close();
    expect(readdirSync(join(allowed, 'below'))).toEqual(['deep']);
    const next = await open(join(allowed, 'below'));
    expect(await write(next, 'three')).toBe('contract.pdf.p7s');
    await next.clear();
    await next.close();
  });

  it('overwrites nothing that came while evidence was staged, and says which name the evidence has', async () => {
    const directory = await open();
    await write(directory, 'one');
    await write(directory, 'two');
    writeFileSync(join(allowed, 'contract.pdf.p7s'), 'of somebody else');
    expect(await directory.publish()).toEqual(new Map([[join(allowed, 'contract.pdf.p7s'), join(allowed, 'contract.pdf (2).p7s')]]));
    await directory.clear();
    await directory.close();
    const contents = ['contract.pdf.p7s', 'contract.pdf (1).p7s', 'contract.pdf (2).p7s'].map((name) =>
      readFileSync(join(allowed, name), 'utf8'),
    );
    expect(contents).toEqual(['of somebody else', 'two', 'one']);
  });

  it('is published to the same end by a later run, wherever the first one ended', async () => {
    const first = await open(join(allowed, 'below'));
    await write(first, 'one');
    await write(first, 'two');
    const journal = structuredClone(first.journal);
    await first.close();
    // One was published by a run that ended before it could say so, under another name than planned.
    const staged = journal.files[0]?.staged ?? '';
    linkSync(join(allowed, 'below', staged), join(allowed, 'below', 'contract.pdf (7).p7s'));
    unlinkSync(join(allowed, 'below', staged));
    const second = await OutputDirectory.openAgain(journal, [allowed], names);
    expect(await second.publish()).toEqual(
      new Map([[join(allowed, 'below', 'contract.pdf.p7s'), join(allowed, 'below', 'contract.pdf (7).p7s')]]),
    );
    await second.close();
    const third = await OutputDirectory.openAgain(journal, [allowed], names);
    await third.publish();
    await third.clear();
    await third.close();
    expect(readdirSync(join(allowed, 'below')).toSorted()).toEqual(['contract.pdf (1).p7s', 'contract.pdf (7).p7s', 'deep']);
  });

  it('is not published if the staged file is gone, or is another one', async () => {
    const directory = await open();
    await write(directory, 'evidence');
    const staged = directory.journal.files[0]?.staged ?? '';
    renameSync(join(allowed, staged), join(outside, 'taken'));
    await expect(directory.publish()).rejects.toThrow(EvidenceGone);
    writeFileSync(join(allowed, staged), 'of somebody else');
    await expect(directory.publish()).rejects.toThrow(EvidenceGone);
    // Nothing waits for who would write into it.
    unlinkSync(join(allowed, staged));
    execFileSync('mkfifo', [join(allowed, staged)]);
    await expect(directory.publish()).rejects.toThrow(EvidenceGone);
    await directory.close();
  });

  it.skipIf(noSmallDisk !== undefined)(
    `says STORE_FULL on a disk that is full or read-only, and leaves nothing${skipNote(noSmallDisk)}`,
    async () => {
      const disk = new SmallDisk(256 * 1024);
      try {
        disk.fill(2);
        const directory = await open(disk.directory, [disk.directory]);
        await write(directory, 'x');
        expect(await refusalOf(write(directory, 'x'.repeat(64 * 1024)))).toBe('STORE_FULL');
        await directory.clear();
        await directory.close();
        expect(readdirSync(disk.directory)).toEqual(['filler']);
        execFileSync('mount', ['-o', 'remount,ro', disk.directory]);
        const second = await open(disk.directory, [disk.directory]);
        expect(await refusalOf(write(second, 'x'))).toBe('STORE_FULL');
        await second.close();
      } finally {
        disk.remove();
      }
    },
  );
});

describe('what a crash left', () => {
  it('is removed at the start where it is of this instance, and nothing else is', async () => {
    const own = new StagedNames('test').take();
    const other = new StagedNames('test-2').take();
    for (const name of [own, other, '.signetd.test.tmp']) writeFileSync(join(allowed, 'below', name), '');
    symlinkSync(outside, join(allowed, 'away'));
    writeFileSync(join(outside, own), '');
    const log = recordingLog();
    const names = new StagedNames('test');
    const inUse = names.take();
    writeFileSync(join(allowed, inUse), '');
    await names.removeLeft([allowed, join(base, 'missing')], log);
    expect(readdirSync(join(allowed, 'below')).toSorted()).toEqual(['.signetd.test.tmp', other, 'deep'].toSorted());
    expect(readdirSync(allowed)).toContain(inUse);
    expect(readdirSync(outside).toSorted()).toEqual([own, 'secret'].toSorted());
    expect(log.lines).toHaveLength(2);
  });
});
