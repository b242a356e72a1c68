import { execFileSync, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, mkdtempSync, readFileSync, rmSync, writeSync, ftruncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { evidenceBase64, isBig } from '../../src/documents/big-content.ts';
import { contentBytes, contentPieces, type EvidencePiece } from '../../src/documents/content.ts';
import { LongAnswer } from '../../src/documents/long-answer.ts';
import { measure, zipContainer, type ZipEntry, type ZipLevel } from '../../src/documents/zip-container.ts';
import { contentSource } from '../../src/signatures/content-source.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { skipNote } from '../support/skip-note.ts';
import { delivered, readByPython, sha256, signedFile } from './containers.ts';

const mebibyte = 1 << 20;
const modified = new Date('2026-11-24T13:14:15.678Z');
const levels: readonly ZipLevel[] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9];
const directory = mkdtempSync(join(tmpdir(), 'signetd-zip-'));
const threads = new WorkThreads();
const opened: number[] = [];
const path = join(directory, 'container.zip');
const text = Buffer.from('All work and no play makes a dull text. '.repeat(40_000));

afterEach(() => {
  for (const descriptor of opened.splice(0, Infinity)) closeSync(descriptor);
});

afterAll(async () => {
  await threads.stop();
  rmSync(directory, { recursive: true, force: true });
});

const fileOf = (name: string, content: Uint8Array) => signedFile(join(directory, name), content, (descriptor) => opened.push(descriptor));
const bytesOf = (pieces: readonly EvidencePiece[]): number => pieces.reduce((sum, piece) => sum + contentBytes(piece), 0);

/** In memory and in files, stored and at every level. */
function allKinds(): ZipEntry[] {
  return levels.flatMap((level) => [
    { name: `data/small ${level}.txt`, content: text.subarray(0, 10_000), level },
    { name: `data/large ${level}.txt`, content: text, level },
    { name: `data/file ${level}.txt`, content: fileOf(`text ${level}`, text), level },
    { name: `data/été ${level} ☃.bin`, content: randomBytes(3000), level },
    { name: `data/empty ${level}`, content: new Uint8Array(), level },
    { name: `data/empty file ${level}`, content: fileOf(`empty ${level}`, new Uint8Array()), level },
  ]);
}

/** An ASiC-E container as far as ZIP is concerned. */
const asice = (): ZipEntry[] => [
  { name: 'mimetype', content: Buffer.from('application/vnd.etsi.asic-e+zip'), level: 0 },
  { name: 'données/été.txt', content: fileOf('été', text), level: 9 },
  { name: 'META-INF/manifest.xml', content: Buffer.from('<manifest/>'), level: 0 },
];

function availability(command: string): string | undefined {
  return spawnSync(command, ['--help']).error === undefined ? undefined : `${command} is not installed`;
}
const noUnzip = availability('unzip');
const noJar = availability('jar');
const utf8 = { ...process.env, LC_ALL: 'C.UTF-8' };

describe('a container', () => {
  it('is read by Python, with every kind of entry', () => {
    const entries = allKinds();
    const pieces = zipContainer(entries, modified);
    const [read = []] = readByPython(delivered(path, pieces));
    expect(readFileSync(path).length).toBe(bytesOf(pieces));
    const contents = entries.map(({ content }) => Buffer.concat(Array.from(contentPieces(content), (piece) => Buffer.from(piece))));
    expect(read).toEqual(
      entries.map(({ name, level }, index) => {
        const content = contents[index] ?? Buffer.alloc(0);
        const isDeflated = level > 0 && /small|large|file \d\.txt/.test(name);
        const storedBytes: unknown = isDeflated ? expect.any(Number) : content.length;
        const contentAt: unknown = expect.any(Number);
        return {
          ...{ name, contentAt, mode: '0o100644', extraBytes: 0, modified: '2026-11-24T13:14:14' },
          ...{ bytes: content.length, storedBytes, sha256: sha256(content) },
          ...{ method: isDeflated ? 8 : 0, flags: name.includes('été') ? 0x800 : 0 },
        };
      }),
    );
  });

  it('may be without entries', () => {
    expect(readByPython(delivered(path, zipContainer([], modified)))).toEqual([[]]);
  });

  it('with mimetype as its first entry has the media type at offset 38, without an extra field', () => {
    delivered(path, zipContainer(asice(), modified));
    const bytes = readFileSync(path);
    expect(bytes.toString('latin1', 0, 4)).toBe('PK\x03\x04');
    // Flags, method and the length of the extra field.
    expect([bytes.readUInt16LE(6), bytes.readUInt16LE(8), bytes.readUInt16LE(28)]).toEqual([0, 0, 0]);
    expect(bytes.toString('latin1', 30, 38 + 31)).toBe('mimetypeapplication/vnd.etsi.asic-e+zip');
  });

  it.skipIf(noUnzip !== undefined)(`is read by unzip and zipinfo without a warning${skipNote(noUnzip)}`, () => {
    delivered(path, zipContainer([...asice(), ...allKinds()], modified));
    const tested = spawnSync('unzip', ['-t', path], { encoding: 'utf8', env: utf8 });
    expect([tested.status, tested.stderr]).toEqual([0, '']);
    expect(tested.stdout).toContain('No errors detected');
    expect(tested.stdout).toContain('testing: données/été.txt ');
    const details = execFileSync('unzip', ['-Z', '-v', path, 'mimetype'], { encoding: 'utf8', env: utf8 });
    expect(details).toMatch(/compression method: +none \(stored\)/);
    expect(details).toMatch(/extended local header: +no/);
    expect(details).toMatch(/length of extra field: +0 bytes/);
    expect(details).toMatch(/file last modified on \(DOS date\/time\): +2026 Nov 24 13:14:14/);
  });

  it.skipIf(noJar !== undefined)(`is read by Java, by its directory and as a stream${skipNote(noJar)}`, () => {
    const entries = [...asice(), ...allKinds()];
    delivered(path, zipContainer(entries, modified));
    const options = { encoding: 'utf8', env: utf8, stdio: 'pipe' } as const;
    const lines = (output: string): string[] => output.trim().split('\n');
    const names = entries.map(({ name }) => name);
    const toUtf8 = ['-J-Dfile.encoding=UTF-8', '-J-Dsun.stdout.encoding=UTF-8', '-J-Dstdout.encoding=UTF-8'];
    expect(lines(execFileSync('jar', [...toUtf8, '-tf', path], options))).toEqual(names);
    expect(lines(execFileSync('jar', [...toUtf8, '-t'], { ...options, input: readFileSync(path) }))).toEqual(names);
  });

  it('is the same bytes for the same entries and time, wherever the content is', () => {
    const container = (content: ZipEntry['content'], level: ZipLevel): Buffer =>
      readFileSync(delivered(path, zipContainer([{ name: 'a', content, level }], modified)));
    for (const level of levels) {
      const first = container(text, level);
      expect(container(Buffer.from(text), level).equals(first)).toBe(true);
      expect(container(fileOf('same', text), level).equals(first)).toBe(true);
    }
  });

  it('takes measures made before, which survive JSON, and does not read the content again', () => {
    const entries = allKinds();
    const measured = entries.map((entry) => ({
      ...entry,
      measured: JSON.parse(JSON.stringify(measure(entry.content, entry.level))) as ReturnType<typeof measure>,
    }));
    const whole = readFileSync(delivered(path, zipContainer(entries, modified)));
    expect(readFileSync(delivered(path, zipContainer(measured, modified))).equals(whole)).toBe(true);
    const file = fileOf('not read', text);
    const before = measure(file, 6);
    ftruncateSync(file.descriptor, 0);
    expect(() => zipContainer([{ name: 'a', content: file, level: 6, measured: before }], modified)).not.toThrow();
    expect(() => zipContainer([{ name: 'a', content: file, level: 6 }], modified)).toThrow('the file has changed');
  });

  it.each([
    ['a name that leads elsewhere', [{ name: '../a', bytes: 1 }], modified, 'the name of a ZIP entry contains'],
    [
      'a name that is used twice',
      [
        { name: 'a', bytes: 1 },
        { name: 'A', bytes: 1 },
      ],
      modified,
      'clashes with that of another',
    ],
    [
      'more than 4 GiB',
      [
        { name: 'a', bytes: 2 ** 31 },
        { name: 'b', bytes: 2 ** 31 },
      ],
      modified,
      'at most 4294967294 bytes',
    ],
    ['a year before 1980', [], new Date('1979-12-31T23:59:59Z'), 'between 1980 and 2107'],
    ['a year after 2107', [], new Date('2108-01-01T00:00:00Z'), 'between 1980 and 2107'],
    ['no time', [], new Date(Number.NaN), 'between 1980 and 2107'],
  ])('is refused for %s before any content is read', (_what, planned, time, message) => {
    const entries = planned.map(({ name, bytes }): ZipEntry => {
      return { name, content: { descriptor: -1, bytes, digest: { hash: 'sha256', value: Buffer.alloc(32) } }, level: 6 };
    });
    expect(() => zipContainer(entries, time)).toThrow(message);
  });

  it('has the first and the last time that it can hold', () => {
    for (const [time, read] of [
      ['1980-01-01T00:00:00Z', '1980-01-01T00:00:00'],
      ['2107-12-31T23:59:59Z', '2107-12-31T23:59:58'],
    ] as const)
      expect(readByPython(delivered(path, zipContainer([{ name: 'a', content: text, level: 0 }], new Date(time))))[0]?.[0]?.modified).toBe(
        read,
      );
  });

  it('of random entries is read by Python', () => {
    const segment = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 8 }).map((part) => part.replaceAll(/[/\\\p{Cc}]|\.+$/gu, '_'));
    const content = fc.oneof(
      fc.uint8Array({ maxLength: 2000 }),
      fc
        .tuple(fc.uint8Array({ minLength: 1, maxLength: 50 }), fc.nat({ max: 3 * mebibyte }))
        .map(([part, bytes]) => Buffer.alloc(bytes, part)),
    );
    const entry = fc.record({
      segments: fc.array(segment, { minLength: 1, maxLength: 3 }),
      content,
      level: fc.constantFrom(...levels),
      inFile: fc.boolean(),
    });
    const container = fc.record({
      entries: fc.array(entry, { maxLength: 5 }),
      time: fc.date({ min: new Date('1980-01-01T00:00:00Z'), max: new Date('2107-12-31T23:59:59Z'), noInvalidDate: true }),
    });
    fc.assert(
      fc.property(fc.array(container, { minLength: 1, maxLength: 8 }), (containers) => {
        const paths = containers.map(({ entries, time }, at) =>
          delivered(
            join(directory, `random-${at}.zip`),
            zipContainer(
              entries.map(({ segments, content: bytes, level, inFile }, index) => ({
                name: [String(index), ...segments].join('/'),
                content: inFile ? fileOf(`random-${at}-${index}`, bytes) : bytes,
                level,
              })),
              time,
            ),
          ),
        );
        const read = readByPython(...paths).map((list) => list.map(({ name, bytes, sha256: digest }) => ({ name, bytes, digest })));
        expect(read).toEqual(
          containers.map(({ entries }) =>
            entries.map(({ segments, content: bytes }, index) => ({
              name: [String(index), ...segments].join('/'),
              bytes: bytes.length,
              digest: sha256(bytes),
            })),
          ),
        );
        for (const descriptor of opened.splice(0, Infinity)) closeSync(descriptor);
      }),
      { numRuns: 12 },
    );
  });
});

describe('a container as evidence', () => {
  it('is delivered by threads, compressed on the way', async () => {
    const entries = [...asice(), { name: 'large.txt', content: text, level: 6 } as const];
    const pieces = zipContainer(entries, modified);
    const encoded = await evidenceBase64(pieces, threads);
    expect(encoded).toBeInstanceOf(LongAnswer);
    const bytes = Buffer.from(encoded instanceof LongAnswer ? encoded.toJSON() : encoded, 'base64');
    expect(bytes.equals(readFileSync(delivered(path, pieces)))).toBe(true);
  });

  it('is in memory if it is small, so that no thread is needed', () => {
    const pieces = zipContainer([{ name: 'a', content: text.subarray(0, 100_000), level: 6 }], modified);
    expect(isBig(pieces)).toBe(false);
    expect(isBig(zipContainer([{ name: 'a', content: text, level: 9 }], modified))).toBe(true);
  });

  it('cannot be read at an offset while it is not compressed yet', () => {
    const source = contentSource(zipContainer([{ name: 'a', content: text, level: 6 }], modified));
    // The header with a name of one byte.
    expect(source.windowAt(0).length).toBe(31);
    expect(() => source.windowAt(31)).toThrow('compressed on delivery');
  });

  const change = (file: { readonly descriptor: number }): void => void writeSync(file.descriptor, Buffer.of(0), 0, 1, 77);
  /** Compresses worse than what was signed. */
  const worsen = (file: { readonly descriptor: number }): void => void writeSync(file.descriptor, randomBytes(mebibyte), 0, mebibyte, 0);
  const shorten = (file: { readonly descriptor: number }): void => {
    ftruncateSync(file.descriptor, 1000);
  };

  it.each(
    [0, 6].flatMap((level) =>
      (
        [
          ['one byte', change],
          ['much', worsen],
          ['its length', shorten],
        ] as const
      ).map(([what, how]) => ({ level: level as ZipLevel, what, how })),
    ),
  )('of level $level is not delivered if $what of a file changes, before or after it is measured', async ({ level, how }) => {
    const before = fileOf('before', text);
    how(before);
    expect(() => zipContainer([{ name: 'a', content: before, level }], modified)).toThrow('the file has changed');
    const after = fileOf('after', text);
    const pieces = zipContainer([{ name: 'a', content: after, level }], modified);
    how(after);
    let bytes = 0;
    const deliver = (): void => {
      for (const piece of pieces) for (const part of contentPieces(piece)) bytes += part.length;
    };
    expect(deliver).toThrow('the file has changed');
    expect(bytes).toBeLessThanOrEqual(bytesOf(pieces));
    await expect(evidenceBase64(pieces, threads)).rejects.toMatchObject({ name: 'Fault', code: 'CONTENT_CHANGED' });
  });
});
