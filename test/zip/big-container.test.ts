import { closeSync, ftruncateSync, mkdtempSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { createHash, randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { writePieces } from '../../src/documents/big-content.ts';
import { contentBytes, contentPieces, type SignedFile } from '../../src/documents/content.ts';
import { zipContainer, type ZipLevel } from '../../src/documents/zip-container.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { readByPython } from './containers.ts';

const mebibyte = 1 << 20;
const bytes = 300 * mebibyte;
const directory = mkdtempSync(join(tmpdir(), 'signetd-zip-'));
const path = join(directory, 'sparse');
const descriptor = openSync(path, 'w+');
const threads = new WorkThreads();

afterAll(async () => {
  closeSync(descriptor);
  rmSync(directory, { recursive: true, force: true });
  await threads.stop();
});

/** Mostly holes, and something in between. */
function sparseFile(): SignedFile {
  ftruncateSync(descriptor, bytes);
  for (let at = 0; at < bytes; at += 50 * mebibyte) writeSync(descriptor, randomBytes(mebibyte), 0, mebibyte, at + 12_345);
  const digest = createHash('sha256');
  for (const piece of contentPieces({ descriptor, bytes })) digest.update(piece);
  return { descriptor, bytes, digest: { hash: 'sha256', value: digest.digest() } };
}

it('a file of 300 MiB is stored and compressed with little memory', async () => {
  const content = sparseFile();
  const levels: readonly ZipLevel[] = [0, 1];
  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss);
  }, 5);
  for (const level of levels) {
    const pieces = zipContainer([{ name: 'data/large.bin', content, level }], new Date());
    const target = join(directory, `level-${level}.zip`);
    const file = await open(target, 'w');
    const written = await writePieces(pieces, file, threads);
    await file.close();
    const announced = pieces.reduce((sum, piece) => sum + contentBytes(piece), 0);
    expect([written.bytes, statSync(target).size]).toEqual([announced, announced]);
  }
  clearInterval(watch);
  expect((peak - before) / mebibyte).toBeLessThan(100);
  const read = readByPython(...levels.map((level) => join(directory, `level-${level}.zip`)));
  const sha256 = Buffer.from(content.digest.value).toString('hex');
  expect(read).toMatchObject([[{ bytes, storedBytes: bytes, method: 0, sha256 }], [{ bytes, method: 8, sha256 }]]);
  expect(read[1]?.[0]?.storedBytes).toBeLessThan(10 * mebibyte);
});
