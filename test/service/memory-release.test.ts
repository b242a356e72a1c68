import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';

const mebibyte = 1024 ** 2;

/** Every sixteenth of many blocks stays in use, so that the C library cannot return the others by itself. */
const program = `
  import { releaseFreeMemoryRegularly } from './dist/service/memory-release.js';
  let blocks = Array.from({ length: 16_384 }, () => Buffer.allocUnsafeSlow(8192).fill(1));
  const kept = blocks.filter((_, index) => index % 16 === 0);
  blocks = undefined;
  // A collection frees the blocks on another thread; the next one waits for it.
  gc();
  gc();
  const before = process.memoryUsage.rss();
  releaseFreeMemoryRegularly();
  console.log(before - process.memoryUsage.rss(), kept.length);
`;

test('memory that is free between blocks in use goes back to the kernel', () => {
  const [returned] = execFileSync(process.execPath, ['--disable-sigusr1', '--expose-gc', '--input-type=module', '--eval', program], {
    encoding: 'utf8',
  }).split(' ');
  expect(Number(returned) / mebibyte).toBeGreaterThan(50);
});
