import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileOf, isExtended, readHeader, tarEnd, TarFault, tarHeader, tarPadding, type TarEntry } from '../../src/tar/header.ts';
import { readTar } from '../../src/tar/read-tar.ts';
import { tarIndex } from '../../src/tar/tar-index.ts';

interface File {
  readonly name: string;
  readonly content: Uint8Array;
}

const names = fc.stringMatching(/^[a-z][a-z/.é-]{0,240}[a-z]$/).filter((name) => !/\/\/|\.\.|\/\.|\.\/|-\//.test(name));
const files = fc.uniqueArray(fc.record({ name: names, content: fc.uint8Array({ maxLength: 3000 }) }), {
  maxLength: 6,
  selector: ({ name }) => name,
});

function archive(all: readonly File[]): Buffer {
  const pieces = all.flatMap(({ name, content }) => [
    tarHeader({ name, bytes: content.length, mode: 0o600, modifiedAt: 1_700_000_000 }),
    content,
    tarPadding(content.length),
  ]);
  return Buffer.concat([...pieces, tarEnd]);
}

/** The bytes in pieces of one size. */
async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let offset = 0; offset < bytes.length; offset += size) yield Promise.resolve(bytes.subarray(offset, offset + size));
}

async function read(bytes: Uint8Array, size = 1000): Promise<File[]> {
  const found: File[] = [];
  for await (const { name, content } of readTar(inPieces(bytes, size))) {
    const pieces: Uint8Array[] = [];
    for await (const piece of content) pieces.push(piece);
    found.push({ name, content: new Uint8Array(Buffer.concat(pieces)) });
  }
  return found;
}

let directory: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-tar-'));
});

afterAll(() => {
  rmSync(directory, { recursive: true });
});

/** The archive as a file, as far as its index leads. */
async function indexed(bytes: Buffer): Promise<File[]> {
  const path = join(directory, 'archive.tar');
  writeFileSync(path, bytes);
  const found = await tarIndex(path);
  return found.map(({ name, offset, bytes: length }) => ({ name, content: new Uint8Array(bytes.subarray(offset, offset + length)) }));
}

describe('an archive', () => {
  it('is read as it was written, however its pieces arrive', async () => {
    await fc.assert(
      fc.asyncProperty(files, fc.integer({ min: 1, max: 5000 }), async (all, size) => {
        const expected = all.map(({ name, content }) => ({ name, content: new Uint8Array(content) }));
        expect(await read(archive(all), size)).toEqual(expected);
        expect(await indexed(archive(all))).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  it('is read by tar, long names included', () => {
    const long = `configuration/${'directory/'.repeat(20)}file.pem`;
    const bytes = archive([
      { name: 'README.txt', content: Buffer.from('about') },
      { name: long, content: Buffer.from('content of a long name') },
    ]);
    expect(execFileSync('tar', ['-t'], { input: bytes, encoding: 'utf8' }).trim().split('\n')).toEqual(['README.txt', long]);
    expect(execFileSync('tar', ['-xO', long], { input: bytes, encoding: 'utf8' })).toBe('content of a long name');
  });

  it('has long names between others, also in its index', async () => {
    const known = ['a', `long/${'n'.repeat(200)}`, 'b', `longer/${'é'.repeat(900)}`, 'c'];
    const all = known.map((name) => ({ name, content: new Uint8Array(Buffer.from(`of ${name}`)) }));
    expect(await read(archive(all), 300)).toEqual(all);
    expect(await indexed(archive(all))).toEqual(all);
  });

  it('can have files of more than 8 GiB', async () => {
    const bytes = 2 ** 33 + 5;
    const header = tarHeader({ name: 'audit/big', bytes, mode: 0o600, modifiedAt: 0 });
    const first = await readTar(inPieces(header, 512)).next();
    expect(first.value).toMatchObject({ name: 'audit/big', bytes });
  });

  it('is refused if it is cut off, or continued', async () => {
    const whole = archive([{ name: 'a', content: Buffer.from('content') }]);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: whole.length - 1 }), async (length) => {
        await expect(read(whole.subarray(0, length))).rejects.toThrow(TarFault);
        // An index needs no second block of zeros.
        if (length < 1536) await expect(indexed(whole.subarray(0, length))).rejects.toThrow(TarFault);
      }),
      { numRuns: 50 },
    );
    await expect(read(Buffer.concat([whole, Buffer.of(1)]))).rejects.toThrow(TarFault);
  });

  it('is refused if it is continued after its end, in its last block or after that', async () => {
    const whole = archive([{ name: 'a', content: Buffer.from('content') }]);
    const second = Buffer.from(whole);
    second.writeUInt8(1, second.length - 1);
    await expect(read(second)).rejects.toThrow('bytes after its end');
    const longer = Buffer.concat([whole, Buffer.alloc(512)]);
    for (const size of [1000, whole.length, 1]) await expect(read(longer, size)).rejects.toThrow('bytes after its end');
  });

  it('is refused if there is something between its entries', async () => {
    const whole = archive([{ name: 'a', content: Buffer.from('content') }]);
    whole.writeUInt8(1, 1023);
    await expect(read(whole)).rejects.toThrow('bytes between its entries');
  });

  it('has each name once in an index', async () => {
    const file = { name: 'a', content: Buffer.from('x') };
    await expect(indexed(archive([file, { ...file, name: 'b' }, file]))).rejects.toThrow('has a twice');
  });

  it('may have a content that fills its blocks', async () => {
    const all = [0, 512, 1024].map((bytes) => ({ name: `of ${bytes}`, content: new Uint8Array(bytes).fill(1) }));
    const bytes = archive(all);
    expect(bytes).toHaveLength(3 * 512 + 512 + 1024 + 1024);
    expect(await read(bytes)).toEqual(all);
    expect(await indexed(bytes)).toEqual(all);
  });
});

describe('the header of an entry', () => {
  const entry: TarEntry = { name: 'file', bytes: 5, mode: 0o640, modifiedAt: 1_700_000_000.9 };

  /** What readers find in the blocks. */
  function found(header: Buffer): { name: string; bytes: number } {
    const first = readHeader(header.subarray(0, 512));
    if (!isExtended(first)) return fileOf(first, undefined);
    const extended = header.subarray(512, 512 + first.bytes);
    return fileOf(readHeader(header.subarray(header.length - 512)), extended);
  }

  it('says what tar shows of a file', () => {
    const bytes = Buffer.concat([tarHeader(entry), Buffer.from('12345'), tarPadding(5), tarEnd]);
    const shown = execFileSync('tar', ['-tv', '--full-time', '--utc'], { input: bytes, encoding: 'utf8' });
    expect(shown.trim()).toMatch(/^-rw-r----- root\/root +5 2023-11-14 22:13:20 file$/);
    const numbers = execFileSync('tar', ['-tv', '--numeric-owner'], { input: bytes, encoding: 'utf8' });
    expect(numbers).toMatch(/ 0\/0 /);
  });

  it('has each field in its place, ended by NUL', () => {
    const header = tarHeader(entry);
    const fields: readonly (readonly [number, number, string])[] = [
      [0, 100, 'file'],
      [100, 8, '0000640'],
      [108, 8, '0000000'],
      [116, 8, '0000000'],
      [124, 12, '00000000005'],
      [136, 12, '14524770400'],
      [156, 1, '0'],
      [157, 100, ''],
      [257, 6, 'ustar'],
      [263, 2, '00'],
      [265, 32, 'root'],
      [297, 32, 'root'],
      [329, 183, ''],
    ];
    for (const [offset, width, text] of fields) expect(header.toString('latin1', offset, offset + width)).toBe(text.padEnd(width, '\0'));
    const sum = header.reduce((all, byte, at) => all + (at >= 148 && at < 156 ? 0x20 : byte), 0);
    expect(header.toString('latin1', 148, 156)).toBe(`${sum.toString(8).padStart(6, '0')}\0 `);
    // An extended header is one more file, whose mode and time are those of the file.
    const extended = tarHeader({ ...entry, name: 'n'.repeat(101) });
    expect([extended.toString('latin1', 0, 11), extended.toString('latin1', 156, 157)]).toEqual(['pax-header\0', 'x']);
    expect(extended.toString('latin1', 124, 148)).toBe('00000000157\x0014524770400\0');
    expect(extended.toString('latin1', 1024, 1124)).toBe('n'.repeat(100));
  });

  it('begins at 1970 for a file that is older', () => {
    expect(tarHeader({ ...entry, modifiedAt: -5 })).toEqual(tarHeader({ ...entry, modifiedAt: 0 }));
  });

  it('has a name of any length, in as few blocks as can hold it', () => {
    for (let length = 1; length <= 1200; length += 1) {
      const name = 'n'.repeat(length);
      const header = tarHeader({ ...entry, name });
      expect(found(header)).toEqual({ name, bytes: 5 });
      // Length, ` path=` and line feed stand beside the name.
      const recordBytes = length + 7 + String(length + 10).length;
      expect(header.length).toBe(length <= 100 ? 512 : 1024 + 512 * Math.ceil(recordBytes / 512));
    }
    const accents = 'é'.repeat(51);
    expect(found(tarHeader({ ...entry, name: accents }))).toEqual({ name: accents, bytes: 5 });
    expect(tarHeader({ ...entry, name: 'é'.repeat(50) })).toHaveLength(512);
  });

  it('has a size of any length', () => {
    for (const [bytes, length] of [
      [0o77777777777, 512],
      [0o77777777777 + 1, 1536],
      [Number.MAX_SAFE_INTEGER, 1536],
    ] as const) {
      const header = tarHeader({ ...entry, bytes });
      expect([found(header), header.length]).toEqual([{ name: 'file', bytes }, length]);
    }
  });

  it.each([
    ['of another format', 'not a tar archive', (block: Buffer) => block.write('ustas', 257)],
    ['with a byte that has changed', 'checksum is wrong', (block: Buffer) => block.writeUInt8(1, 511)],
    ['with a byte of the name that has changed', 'checksum is wrong', (block: Buffer) => block.write('g')],
    ['with a checksum that is none', 'cannot be read', (block: Buffer) => block.write('8', 150)],
    ['without a checksum', 'cannot be read', (block: Buffer) => block.fill(0, 148, 156)],
  ])('is refused %s', (_what, message, damage) => {
    const block = Buffer.from(tarHeader(entry));
    damage(block);
    expect(() => readHeader(block)).toThrow(message);
  });

  /** The header with other fields and a checksum that fits. */
  function changed(change: (block: Buffer) => void): Buffer {
    const block = Buffer.from(tarHeader(entry));
    change(block);
    block.write('        ', 148);
    block.write(
      `${block
        .reduce((sum, byte) => sum + byte, 0)
        .toString(8)
        .padStart(6, '0')}\0 `,
      148,
    );
    return block;
  }

  it.each([
    ['a link', (block: Buffer) => block.write('2', 156), 'not a file'],
    ['a directory', (block: Buffer) => block.write('5', 156), 'not a file'],
    ['a global extended header', (block: Buffer) => block.write('g', 156), 'not a file'],
    ['a name with a prefix', (block: Buffer) => block.write('etc', 345), 'a name with a prefix'],
    ['no name', (block: Buffer) => block.fill(0, 0, 100), 'unknown name'],
    ['a size in another base', (block: Buffer) => block.write('0000000000\x3a', 124), 'cannot be read'],
  ])('is refused of %s', (_what, change, message) => {
    expect(() => fileOf(readHeader(changed(change)), undefined)).toThrow(message);
  });

  it('may have spaces beside its numbers, as other programs write them', () => {
    const block = changed((one) => one.write('        17 \0', 124));
    expect(fileOf(readHeader(block), undefined)).toEqual({ name: 'file', bytes: 0o17 });
  });

  it('may be extended by what no file needs more of', () => {
    const extended = (bytes: number): boolean => isExtended({ type: 'x', name: '', bytes });
    expect(extended(1 << 20)).toBe(true);
    expect(() => extended((1 << 20) + 1)).toThrow('too long');
    expect(isExtended({ type: '0', name: '', bytes: 1 << 30 })).toBe(false);
  });

  it.each([
    ['13 path=name\n', { name: 'name', bytes: 5 }],
    ['12 path=one\n12 path=two\n', { name: 'two', bytes: 5 }],
    ['30 mtime=1350244992.023960108\n9 size=7\n', { name: 'file', bytes: 7 }],
    ['10 path=\n\n', { name: '\n', bytes: 5 }],
    ['13 path=a=b=\n', { name: 'a=b=', bytes: 5 }],
    // Without its line feed, without a value, cut off, and longer or shorter than it says.
    ['12 path=name', undefined],
    ['8 path\n', undefined],
    ['13 path=nam', undefined],
    ['99 path=name\n', undefined],
    ['12 path=name\n', undefined],
    ['4 =\n', undefined],
    ['path=name\n', undefined],
    [' path=name\n', undefined],
    ['-14 path=name\n', undefined],
    ['14.5 path=name\n', undefined],
    ['14e0 path=name\n', undefined],
    // No size, or none that can be.
    ['8 size=\n', undefined],
    ['11 size=-1\n', undefined],
    ['12 size=1e3\n', undefined],
    ['13 size=0x10\n', undefined],
    ['12 size=1.5\n', undefined],
    ['11 size= 7\n', undefined],
    ['25 size=9007199254740992\n', undefined],
    ['8 path=\n', undefined],
  ])('is extended by %j', (records, expected) => {
    const extend = (): unknown => fileOf(readHeader(tarHeader(entry)), Buffer.from(records));
    if (expected === undefined) expect(extend).toThrow(TarFault);
    else expect(extend()).toEqual(expected);
  });
});

it('a header tells a long name and a large size one after the other', () => {
  const header = tarHeader({ name: 'n'.repeat(101), bytes: 2 ** 33, mode: 0o600, modifiedAt: 0 });
  const records = `111 path=${'n'.repeat(101)}\n19 size=8589934592\n`;
  expect(header.toString('latin1', 512, 512 + records.length)).toBe(records);
  expect(header.subarray(512 + records.length, 1024).every((byte) => byte === 0)).toBe(true);
  expect(header.length).toBe(3 * 512);
  // Each of them alone needs no other.
  expect(tarHeader({ name: 'n'.repeat(100), bytes: 2 ** 33 - 1, mode: 0o600, modifiedAt: 0 })).toHaveLength(512);
  expect(tarHeader({ name: 'n', bytes: 2 ** 33, mode: 0o600, modifiedAt: 0 }).toString('latin1', 512, 531)).toBe('19 size=8589934592\n');
});

it('the checksum of a header is read from its first digit on', () => {
  const header = tarHeader({ name: 'file', bytes: 5, mode: 0o600, modifiedAt: 0 });
  // The target of a link, which a file does not have, lifts the sum beyond five digits.
  header.fill(0xff, 157, 257);
  header.fill(0xff, 265, 329);
  const sum = header.reduce((total, byte, offset) => total + (offset >= 148 && offset < 156 ? 0x20 : byte), 0);
  expect(sum).toBeGreaterThan(0o77777);
  header.write(`${sum.toString(8)}\0 `, 148, 8, 'latin1');
  expect(readHeader(header)).toEqual({ type: '0', name: 'file', bytes: 5 });
});
