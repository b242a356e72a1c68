import { createHash, randomBytes } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { closing } from '../../../src/documents/paths/descriptors.ts';
import { DirectoryContents } from '../../../src/documents/transfer/directory-contents.ts';
import { ObjectReader } from '../../../src/documents/transfer/object-reader.ts';
import { contentOf, Spool } from '../../../src/documents/transfer/spool.ts';
import { fileIdForm, quotaReached } from '../../../src/documents/transfer/transfer-parts.ts';
import { ObjectStream } from '../../../src/outgoing/s3/object-stream.ts';
import type { TransferFileRow } from '../../../src/state/tables/transfer-files.ts';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';

const base = mkdtempSync(join(tmpdir(), 'signetd-contents-on-disk-'));
let directory: string;
let directories = 0;
beforeEach(() => {
  directories += 1;
  directory = join(base, String(directories), 'files');
});
afterAll(() => {
  rmSync(base, { recursive: true, force: true });
});

const id = (letter: string): string => letter.repeat(43);
const row = (changes: Partial<TransferFileRow>): TransferFileRow => ({
  ...{ id: id('a'), tenant: 'demo', state: 'STORED', owner: 'one', bytes: 0, media_type: 'x/y', file_name: null },
  ...{ sha256: null, ends_at: 1, ...changes },
});

it('an identifier has 43 letters of base64url', () => {
  for (const text of [id('a'), id('-'), id('_'), randomBytes(32).toString('base64url')]) expect(fileIdForm.test(text)).toBe(true);
  for (const text of ['', id('a').slice(1), `${id('a')}a`, id('.'), `${id('a')}\n`, `/${id('a').slice(1)}`])
    expect(fileIdForm.test(text)).toBe(false);
  expect(quotaReached()).toMatchObject({ code: 'STORE_FULL' });
});

describe('contents in a directory', () => {
  it('are for the user of the service alone', async () => {
    const contents = new DirectoryContents(directory);
    await contents.prepare();
    await contents.prepare();
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    const arriving = await contents.create(id('a'));
    await closing(arriving, async () => {
      await arriving.handle.writeFile('content');
      await arriving.keep({ bytes: 7, sha256: '' });
    });
    expect([statSync(join(directory, id('a'))).mode & 0o777, arriving.isLasting]).toEqual([0o600, true]);
    const opened = await contents.open(row({ bytes: 7 }));
    expect(opened && (await closing(opened, async () => opened.readFile('utf8')))).toBe('content');
    expect(opened?.fd).toBe(-1);
  });

  it('never take the place of what is there, and follow no link', async () => {
    const contents = new DirectoryContents(directory);
    await contents.prepare();
    writeFileSync(join(directory, id('a')), 'there');
    await expect(contents.create(id('a'))).rejects.toMatchObject({ code: 'EEXIST' });
    symlinkSync(join(directory, id('a')), join(directory, id('b')));
    await expect(contents.create(id('b'))).rejects.toMatchObject({ code: 'EEXIST' });
    await expect(contents.open(row({ id: id('b'), bytes: 5 }))).rejects.toMatchObject({ code: 'ELOOP' });
    expect(readFileSync(join(directory, id('a')), 'utf8')).toBe('there');
  });

  it('are listed as far as their names are identifiers, with their times, a hundred at once', async () => {
    const contents = new DirectoryContents(directory);
    await contents.prepare();
    const ids = Array.from({ length: 101 }, () => randomBytes(32).toString('base64url'));
    for (const one of ids) writeFileSync(join(directory, one), '');
    utimesSync(join(directory, ids[0] ?? ''), 1, 2);
    writeFileSync(join(directory, 'note.txt'), '');
    const lists: number[] = [];
    const found = new Map<string, number>();
    for await (const list of contents.list()) {
      lists.push(list.length);
      for (const one of list) found.set(one.id, one.changedAtMs);
    }
    expect([lists, [...found.keys()].toSorted()]).toEqual([[100, 1], ids.toSorted()]);
    expect(found.get(ids[0] ?? '')).toBe(2000);
    // One that goes while it is listed is no fault.
    const listing = contents.list();
    for (const one of ids.slice(1)) await contents.remove(one);
    const left: string[] = [];
    for await (const list of listing) left.push(...list.map((one) => one.id));
    expect(left).toEqual(ids.slice(0, 1));
    await contents.probe();
    contents.close();
  });

  it('that are gone are removed without a fault, and any other fault is one', async () => {
    const contents = new DirectoryContents(directory);
    await contents.prepare();
    await contents.remove(id('a'));
    expect(await contents.openInOrder(row({}))).toBeUndefined();
    mkdirSync(join(directory, id('b')));
    await expect(contents.remove(id('b'))).rejects.toThrow();
    expect(contents.fault).toBeUndefined();
  });
});

describe('files without names', () => {
  it('are for the user of the service alone, and gone when they are closed', async () => {
    const spool = new Spool(directory);
    await spool.prepare();
    expect(statSync(directory).mode & 0o777).toBe(0o700);
    const handle = await spool.newFile();
    expect([readdirSync(directory), (await handle.stat()).mode & 0o777, (await handle.stat()).nlink]).toEqual([[], 0o600, 0]);
    const content = randomBytes(600_000);
    await handle.writeFile(content);
    for (let again = 0; again < 2; again += 1) {
      const pieces: Buffer[] = [];
      for await (const piece of contentOf(handle)) pieces.push(Buffer.from(piece as Uint8Array));
      expect(Buffer.concat(pieces).equals(content)).toBe(true);
    }
    await handle.close();
  });

  it('that kept their names in a crash are removed, and nothing else is', async () => {
    mkdirSync(directory, { recursive: true });
    for (const name of ['.spool-1', '.spool', 'x.spool-1', id('a')]) writeFileSync(join(directory, name), '');
    await new Spool(directory).prepare();
    expect(readdirSync(directory).toSorted()).toEqual(['.spool', id('a'), 'x.spool-1'].toSorted());
  });
});

describe('an object that is read in order', () => {
  const content = randomBytes(2_500_000);
  const sha256 = createHash('sha256').update(content).digest('hex');

  function readerOf(expected: { readonly bytes: number; readonly sha256: string | null }, asked = { count: 0 }): ObjectReader {
    const response = new IncomingMessage(new Socket());
    for (let at = 0; at < content.length; at += 1_000_000) response.push(content.subarray(at, at + 1_000_000));
    response.push(null);
    const stream = new ObjectStream(response, { bytes: content.length, timeoutMs: 10_000, from: async () => Promise.resolve(undefined) });
    return new ObjectReader(stream, expected, async (work) => {
      asked.count += 1;
      return work;
    });
  }
  async function read(reader: ObjectReader): Promise<Buffer> {
    const buffer = Buffer.alloc(3_000_010, 7);
    let position = 0;
    for (;;) {
      const { bytesRead } = await reader.read(buffer, position + 10, 400_000, position);
      if (bytesRead === 0) return buffer.subarray(10, 10 + position);
      position += bytesRead;
    }
  }

  it('is what was stored', async () => {
    const asked = { count: 0 };
    expect((await read(readerOf({ bytes: content.length, sha256 }, asked))).equals(content)).toBe(true);
    expect(asked.count).toBeGreaterThan(3);
    expect((await read(readerOf({ bytes: content.length, sha256: null }))).equals(content)).toBe(true);
    const path = join(base, 'copied');
    const file = await open(path, 'w');
    await closing(file, async () => readerOf({ bytes: content.length, sha256 }).copyTo(file));
    expect(readFileSync(path).equals(content)).toBe(true);
  });

  it('is withheld at its end if it is another', async () => {
    const reader = readerOf({ bytes: content.length, sha256: '0'.repeat(64) });
    await expect(read(reader)).rejects.toThrow('has other content than was stored');
    const file = await open(join(base, 'copied'), 'w');
    await expect(closing(file, async () => readerOf({ bytes: content.length, sha256: 'x' }).copyTo(file))).rejects.toThrow('other content');
    await reader.close();
  });

  it('is not read anywhere else', async () => {
    const reader = readerOf({ bytes: content.length, sha256 });
    const buffer = Buffer.alloc(10);
    await expect(reader.read(buffer, 0, 10, 1)).rejects.toThrow('read in order');
    expect(await reader.read(buffer, 0, 10, 0)).toEqual({ bytesRead: 10 });
    await expect(reader.read(buffer, 0, 10, 0)).rejects.toThrow('read in order');
  });
});
