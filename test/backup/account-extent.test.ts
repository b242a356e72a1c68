import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { accountExtent } from '../../src/backup/account-extent.ts';
import { accountFile, accountLine, noLine } from '../../src/token/account-files.ts';

const time = '2026-03-02T10:00:00.000Z';
const lineBytes = accountLine(1, time, noLine, '"uses":[]').length + 1;
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-account-extent-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

/** Writes a file of a chain with lines of these numbers, below 10. */
function write(chain: number, number: number, lines: readonly number[]): void {
  const text = lines.map((n) => `${accountLine(n, time, noLine, '"uses":[]')}\n`).join('');
  writeFileSync(accountFile(directory, chain, number).path, text);
}

/** Number of the file, and how many lines of it, in the order of the backup. */
async function extentOf(heads: Parameters<typeof accountExtent>[1]): Promise<(string | number)[][]> {
  const extents = await accountExtent(directory, heads);
  return extents.map(({ name, bytes }) => [name.slice('account-'.length, -'.jsonl'.length), bytes / lineBytes]);
}

const head = (chain: number, n: number): { chain: number; n: number; hash: string } => ({ chain, n, hash: noLine });

describe('the part of an account of uses that belongs to a backup', () => {
  beforeEach(() => {
    write(0, 1, [1, 2]);
    write(0, 2, [3, 4]);
    write(0, 3, [5, 6]);
    write(1, 1, [1, 2, 3]);
  });

  it('ends with the line of the checkpoint, and contains no file after it', async () => {
    expect(await extentOf([head(0, 3), head(1, 2)])).toEqual([
      ['0-00000001', 2],
      ['0-00000002', 1],
      ['1-00000001', 2],
    ]);
  });

  it('has the files before as a whole', async () => {
    expect(await extentOf([head(0, 6)])).toEqual([
      ['0-00000001', 2],
      ['0-00000002', 2],
      ['0-00000003', 2],
    ]);
  });

  it('has nothing of a chain that the checkpoint does not know', async () => {
    expect(await extentOf([head(1, 1)])).toEqual([['1-00000001', 1]]);
    expect(await extentOf([])).toEqual([]);
  });

  it('has all complete lines where there is no checkpoint', async () => {
    appendFileSync(accountFile(directory, 0, 3).path, '{"n":7,"time":"2026');
    write(0, 4, []);
    expect(await extentOf(undefined)).toEqual([
      ['0-00000001', 2],
      ['0-00000002', 2],
      ['0-00000003', 2],
      ['1-00000001', 3],
    ]);
  });
});
