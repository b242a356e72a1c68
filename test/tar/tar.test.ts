import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tarEnd, TarFault, tarHeader, tarPadding } from '../../src/tar/header.ts';
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
});
