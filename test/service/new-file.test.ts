import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { writeNewFile } from '../../src/service/new-file.ts';

let directory: string;
let path: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-new-file-'));
  path = join(directory, 'new');
});

afterEach(() => {
  rmSync(directory, { recursive: true });
});

describe('a new file', () => {
  it('has its name once it is complete, and is only for its owner', async () => {
    const result = await writeNewFile(path, async (out) => {
      await out.writeFile('first, ');
      expect(existsSync(path)).toBe(false);
      await out.writeFile('second');
      return 2;
    });
    expect([result, readFileSync(path, 'utf8'), statSync(path).mode & 0o777, readdirSync(directory)]).toEqual([
      ...[2, 'first, second', 0o600],
      ['new'],
    ]);
  });

  it('replaces none that was made meanwhile', async () => {
    const writing = writeNewFile(path, async (out) => {
      writeFileSync(path, 'another');
      await out.writeFile('mine');
    });
    await expect(writing).rejects.toThrow('EEXIST');
    expect([readFileSync(path, 'utf8'), readdirSync(directory)]).toEqual(['another', ['new']]);
  });

  it('leaves nothing if it fails, nor what a killed process left', async () => {
    // No process has a number as high as this.
    writeFileSync(`${path}.4194305.part`, 'of a killed process');
    const writing = writeNewFile(path, async (out) => {
      await out.writeFile('half');
      throw new Error('no more');
    });
    await expect(writing).rejects.toThrow('no more');
    expect(readdirSync(directory)).toEqual([]);
    await expect(writeNewFile(join(directory, 'missing', 'new'), async () => Promise.resolve())).rejects.toThrow('cannot be written');
  });
});
