import { createHash, randomBytes, type Hash } from 'node:crypto';
import { closeSync, ftruncateSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inflateRawSync } from 'node:zlib';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import { bigContentBytes, evidenceBase64, isBig, smallBase64, writePieces } from '../../src/documents/big-content.ts';
import { digest, digests, sharedBase64, writePieces as writeInThread } from '../../src/documents/content-thread.ts';
import { contentBytes, contentPieces, type EvidencePiece, type FileRange, type SignedFile } from '../../src/documents/content.ts';
import { DocumentDigests } from '../../src/documents/document-digests.ts';
import type { InputDocument } from '../../src/documents/document.ts';
import { LongAnswer } from '../../src/documents/long-answer.ts';
import { measure } from '../../src/documents/zip-container.ts';
import type { ThreadFunction, WorkThreads } from '../../src/threads/work-threads.ts';
import { deflated } from '../../src/zip/deflate.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-contents-'));
const opened: number[] = [];
afterEach(() => {
  for (const descriptor of opened.splice(0, Infinity)) closeSync(descriptor);
});
afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

const sha256 = (): Hash => createHash('sha256');
const digestOf = (bytes: Uint8Array): Buffer => sha256().update(bytes).digest();
const changed = { code: 'CONTENT_CHANGED' };
let files = 0;

/** A file with a content, of which ranges were signed; all of it without. */
function signedFile(content: Uint8Array, ranges?: readonly FileRange[]): SignedFile {
  files += 1;
  const path = join(directory, String(files));
  writeFileSync(path, content);
  const descriptor = openSync(path, 'r+');
  opened.push(descriptor);
  const covered = ranges === undefined ? content : Buffer.concat(ranges.map(({ start, end }) => content.subarray(start, end)));
  const known = { descriptor, bytes: covered.length, digest: { hash: 'sha256', value: digestOf(covered) } } as const;
  return ranges === undefined ? known : { ...known, ranges };
}

const whole = (content: EvidencePiece): Buffer => Buffer.concat(Array.from(contentPieces(content), (piece) => Buffer.from(piece)));

/** Does the work of threads here, and remembers what it was. */
class WorkHere implements Pick<WorkThreads, 'run'> {
  readonly names: string[] = [];

  async run<T>({ name }: ThreadFunction, task: unknown): Promise<T> {
    this.names.push(name);
    const all: Readonly<Record<string, (task: never) => unknown>> = { digests, sharedBase64, writePieces: writeInThread };
    return Promise.resolve(all[name]?.(task as never) as T);
  }
}
const threadsOf = (work: WorkHere): WorkThreads => work as unknown as WorkThreads;

describe('content', () => {
  const bytes = randomBytes(2_500_000);

  it('is read piece by piece, of memory, a file, and parts of a file', () => {
    expect(whole(bytes).equals(bytes)).toBe(true);
    const file = signedFile(bytes);
    expect([whole(file).equals(bytes), contentBytes(file)]).toEqual([true, bytes.length]);
    expect(Array.from(contentPieces(file), ({ length }) => length)).toEqual([1 << 20, 1 << 20, 2_500_000 - (2 << 20)]);
    const ranges = [
      { start: 5, end: 5 },
      { start: 0, end: 3 },
      { start: 1_000_000, end: 2_400_000 },
    ];
    const parts = signedFile(bytes, ranges);
    expect(whole(parts).equals(Buffer.concat([bytes.subarray(0, 3), bytes.subarray(1_000_000, 2_400_000)]))).toBe(true);
    expect(whole(signedFile(new Uint8Array()))).toHaveLength(0);
    const { descriptor } = file;
    expect(whole({ descriptor, bytes: 10 }).equals(bytes.subarray(0, 10))).toBe(true);
  });

  it('of a file that is shorter or another by then is an error, at its end', () => {
    const short = signedFile(bytes);
    ftruncateSync(short.descriptor, bytes.length - 1);
    const other = signedFile(bytes);
    const wrong = { ...other, digest: { ...other.digest, value: digestOf(Buffer.from('other')) } };
    const longer = { descriptor: other.descriptor, bytes: bytes.length + 1 };
    for (const [file, atLeast] of [
      [short, bytes.length - 1],
      [wrong, bytes.length],
      [longer, bytes.length],
    ] as const) {
      let read = 0;
      const readAll = (): void => {
        for (const piece of contentPieces(file)) read += piece.length;
      };
      expect(readAll).toThrow(expect.objectContaining(changed));
      expect(read).toBe(atLeast);
    }
  });

  it('that is compressed on delivery has as many bytes as were announced', () => {
    const text = Buffer.from('text '.repeat(5000));
    const stream = Buffer.concat([...deflated([text], 6)]);
    const piece = { deflated: signedFile(text), level: 6, bytes: stream.length } as const;
    expect(inflateRawSync(whole(piece)).equals(text)).toBe(true);
    expect(contentBytes(piece)).toBe(stream.length);
    for (const announced of [stream.length - 1, stream.length + 1])
      expect(() => whole({ ...piece, bytes: announced })).toThrow(expect.objectContaining(changed));
  });

  it('is measured for its entry in a container: compressed only if that makes it smaller', () => {
    const text = Buffer.from('text '.repeat(5000));
    const { crc32, deflatedBytes } = measure(text, 6);
    expect(deflatedBytes).toBe(Buffer.concat([...deflated([text], 6)]).length);
    expect(measure(text, 0)).toEqual({ crc32 });
    expect(measure(Buffer.from('123456789'), 9)).toEqual({ crc32: 0xcbf43926 });
    expect(measure(signedFile(text), 6)).toEqual({ crc32, deflatedBytes });
  });
});

describe('content is big', () => {
  it('from 256 KiB in all on, or if any of it is not in memory', () => {
    const half = Buffer.alloc(bigContentBytes / 2);
    expect([isBig([]), isBig([half, half]), isBig([half, half, Buffer.alloc(1)])]).toEqual([false, false, true]);
    expect([isBig([Buffer.alloc(10)], 10), isBig([Buffer.alloc(11)], 10)]).toEqual([false, true]);
    expect(isBig([half, signedFile(Buffer.of(1))])).toBe(true);
    expect(isBig([{ deflated: Buffer.of(1), level: 1, bytes: 1 }])).toBe(true);
  });

  it('and then it is written, hashed and encoded elsewhere, to the same end', async () => {
    const [small, big] = [randomBytes(1000), randomBytes(bigContentBytes + 1)];
    const file = signedFile(randomBytes(4000));
    for (const [pieces, names] of [
      [[small, small], []],
      [[big], ['writePieces', 'sharedBase64']],
      [
        [small, file, big],
        ['writePieces', 'sharedBase64'],
      ],
      [[file], ['writePieces', 'sharedBase64']],
    ] as const) {
      const work = new WorkHere();
      const path = join(directory, 'written');
      const target = await open(path, 'w');
      const content = Buffer.concat(pieces.map(whole));
      expect(await writePieces(pieces, target, threadsOf(work))).toEqual({ bytes: content.length, sha256: digestOf(content) });
      await target.close();
      expect(readFileSync(path).equals(content)).toBe(true);
      const encoded = await evidenceBase64(pieces, threadsOf(work));
      expect(encoded instanceof LongAnswer ? encoded.toJSON() : encoded).toBe(content.toString('base64'));
      expect(work.names).toEqual(names);
    }
  });

  it('and what cannot be written there is the error of the file system', async () => {
    const target = await open(join(directory, 'read-only'), 'a+');
    await target.close();
    const reading = await open(join(directory, 'read-only'), 'r');
    const big = [Buffer.alloc(bigContentBytes + 1)];
    await expect(writePieces(big, reading, threadsOf(new WorkHere()))).rejects.toMatchObject({ code: 'EBADF' });
    const other = signedFile(Buffer.of(1));
    const wrong = { ...other, digest: { ...other.digest, value: digestOf(Buffer.of(2)) } };
    await expect(writePieces([wrong], reading, threadsOf(new WorkHere()))).rejects.toMatchObject({ code: 'EBADF' });
    await reading.close();
    const writing = await open(join(directory, 'written'), 'w');
    await expect(writePieces([wrong], writing, threadsOf(new WorkHere()))).rejects.toMatchObject(changed);
    await writing.close();
  });
});

it('base64 is kept apart from the JSON from 16 Ki characters on', () => {
  // 12,285 bytes are 16,380 characters.
  expect(smallBase64([Buffer.alloc(12_285)])).toBe(Buffer.alloc(12_285).toString('base64'));
  const long = smallBase64([Buffer.alloc(12_285), Buffer.alloc(1)]);
  expect(long instanceof LongAnswer && long.toJSON()).toBe(Buffer.alloc(12_286).toString('base64'));
});

it('base64 of pieces is that of all of them together, wherever they are cut', () => {
  const slice = 3 << 18;
  const bytes = randomBytes(2 * slice + 5);
  for (const cut of [0, 1, 2, 3, slice - 1, slice, slice + 1, bytes.length]) {
    const pieces = [bytes.subarray(0, cut), bytes.subarray(cut)];
    expect(Buffer.from(sharedBase64({ pieces })).toString('latin1')).toBe(bytes.toString('base64'));
    const task = { content: bytes.subarray(cut), hash: 'sha256' } as const;
    expect(Buffer.from(digest(task))).toEqual(digestOf(bytes.subarray(cut)));
    expect(Buffer.from(digest({ ...task, asBase64: true }))).toEqual(digestOf(Buffer.from(bytes.subarray(cut).toString('base64'))));
  }
  expect(Buffer.from(sharedBase64({ pieces: [] }))).toHaveLength(0);
});

describe('digests of documents', () => {
  const document = (source: InputDocument['source']): InputDocument => ({ id: 'd', fileName: undefined, source });

  it('are computed once for each hash, in a thread if the contents are big', async () => {
    const [small, big] = [randomBytes(10), randomBytes(bigContentBytes)];
    for (const [contents, areBig] of [
      [[small], false],
      [[big], false],
      [[small, big], true],
    ] as const) {
      const work = new WorkHere();
      const documents = contents.map((content) => document({ content }));
      const all = new DocumentDigests(documents, work);
      expect(all.areBig).toBe(areBig);
      for (const [index, one] of documents.entries()) {
        const content = contents[index] ?? small;
        expect(Buffer.from((await all.of(one, 'sha256')) ?? [])).toEqual(digestOf(content));
        expect(Buffer.from((await all.of(one, 'sha512')) ?? [])).toEqual(createHash('sha512').update(content).digest());
        expect(await all.of(one, 'sha256')).toBe(await all.of(one, 'sha256'));
      }
      expect(work.names).toHaveLength(areBig ? 4 : 0);
    }
    const here = new DocumentDigests([document({ content: small }), document({ content: big })], undefined);
    expect(here.areBig).toBe(true);
    const one = document({ content: big });
    expect(Buffer.from((await here.of(one, 'sha256')) ?? [])).toEqual(digestOf(big));
  });

  it('of a document that is given as a digest are that one, by its hash', async () => {
    const value = randomBytes(32);
    const one = document({ digest: { hash: 'sha256', value } });
    const all = new DocumentDigests([one], new WorkHere());
    expect([await all.of(one, 'sha256'), await all.of(one, 'sha512'), all.areBig]).toEqual([value, undefined, false]);
  });
});
