import { hash } from 'node:crypto';
import {
  appendFileSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
  type fdatasync,
  type writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { UseAccount } from '../../src/token/host/use-account.ts';

type Told = (error: Error | null) => void;

/** A disk that fails on demand, takes as many bytes at once as it likes, and answers a sync when it is told to. */
const disk = vi.hoisted(() => ({ full: false, mostBytes: Infinity, syncs: [] as ((error: Error | null) => void)[] }));

vi.mock('node:fs', async (original) => {
  const fs = await original<{ writeSync: typeof writeSync; fdatasync: typeof fdatasync }>();
  return {
    ...fs,
    fdatasync: (_fd: number, told: Told) => void disk.syncs.push(told),
    writeSync: (fd: number, bytes: Buffer, offset: number) => {
      if (disk.full) throw new Error('ENOSPC: no space left on device');
      return fs.writeSync(fd, bytes, offset, Math.min(disk.mostBytes, bytes.length - offset));
    },
  };
});

interface Line {
  readonly n: number;
  readonly previous: string;
  readonly uses?: readonly string[];
  readonly start?: object;
}

const failed = vi.fn<(reason: string) => void>();
let directory: string;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  Object.assign(disk, { full: false, mostBytes: Infinity, syncs: [] });
  failed.mockClear();
  directory = mkdtempSync(join(tmpdir(), 'signetd-account-'));
});
afterEach(() => {
  vi.useRealTimers();
  rmSync(directory, { recursive: true, force: true });
});

const opened = (rotateBytes = 1 << 20, chain = 0): UseAccount => new UseAccount({ directory, chain, rotateBytes, failed });
const path = (number: number, chain = 0): string => join(directory, `account-${chain}-0000000${number}.jsonl`);
const lines = (number: number, chain = 0): Line[] =>
  readFileSync(path(number, chain), 'utf8')
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);

function use(account: UseAccount, ...uses: string[]): void {
  for (const each of uses) account.add(each);
  account.flush();
}

describe('the account of a thread', () => {
  it('has a line for each flush, which has the hash of the one before it', () => {
    const account = opened();
    use(account, 'first');
    account.flush();
    use(account, 'second', 'third');
    const bytes = readFileSync(path(1), 'utf8').split('\n');
    expect(lines(1)).toEqual([
      { n: 1, time: expect.any(String) as string, previous: '0'.repeat(64), start: {} },
      { n: 2, time: expect.any(String) as string, previous: hash('sha256', bytes[0] ?? ''), uses: ['first'] },
      { n: 3, time: expect.any(String) as string, previous: hash('sha256', bytes[1] ?? ''), uses: ['second', 'third'] },
    ]);
    expect(statSync(path(1)).mode & 0o777).toBe(0o600);
    expect(failed).not.toHaveBeenCalled();
  });

  it('contains all of a line even if the disk accepts it in parts', () => {
    disk.mostBytes = 7;
    use(opened(), 'first', 'second');
    expect(lines(1).map(({ uses }) => uses)).toEqual([undefined, ['first', 'second']]);
  });

  it('continues where the last host ended, beside that of another thread', () => {
    use(opened(), 'first');
    use(opened(1 << 20, 1), 'of another');
    use(opened(), 'second');
    expect(lines(1).map(({ n, start, uses }) => [n, start ?? uses])).toEqual([
      [1, {}],
      [2, ['first']],
      [3, {}],
      [4, ['second']],
    ]);
    expect(lines(1, 1)).toHaveLength(2);
  });

  it('removes an incomplete line, and reports its length', () => {
    use(opened(), 'first');
    const good = statSync(path(1)).size;
    appendFileSync(path(1), '{"n":3');
    use(opened(good + 400), 'second');
    expect(lines(1).map(({ n, start, uses }) => [n, start ?? uses])).toEqual([
      [1, {}],
      [2, ['first']],
      [3, { cutBytes: 6 }],
      [4, ['second']],
    ]);
  });

  it('begins a new file after a foreign last line, and reports it', () => {
    use(opened(), 'first');
    appendFileSync(path(1), 'something else\nand half a line');
    use(opened(), 'second');
    expect(lines(2).map(({ start, uses }) => start ?? uses)).toEqual([
      { gap: 'the last line of file 1 was not written by this service' },
      ['second'],
    ]);
    expect(readFileSync(path(1), 'utf8')).toMatch(/something else\nand half a line$/);
  });

  it('begins another file as soon as one has its maximum size, also across hosts', () => {
    use(opened(), 'first');
    const size = statSync(path(1)).size;
    rmSync(path(1));
    use(opened(size + 1), 'first');
    expect(readdirSync(directory)).toEqual(['account-0-00000001.jsonl']);
    rmSync(path(1));
    const account = opened(size);
    use(account, 'first');
    expect(readdirSync(directory)).toEqual(['account-0-00000001.jsonl', 'account-0-00000002.jsonl']);
    use(account, 'second');
    const last = readFileSync(path(1), 'utf8').split('\n').at(-2) ?? '';
    expect(lines(2)).toMatchObject([{ n: 3, previous: hash('sha256', last), uses: ['second'] }]);
    // What the file has already counts.
    use(opened(statSync(path(2)).size + 150), 'third');
    expect(readdirSync(directory)).toHaveLength(3);
  });

  it('is written before a line becomes too long for its readers', () => {
    const account = opened();
    const long = 'x'.repeat(1 << 18);
    account.add(long.slice(0, -2));
    expect(lines(1)).toHaveLength(1);
    account.add('y');
    expect(lines(1).map(({ uses }) => uses?.length)).toEqual([undefined, 2]);
  });
});

describe('a sync', () => {
  it('is done once after a line, and again only after another line', () => {
    const account = opened();
    use(account, 'first');
    use(account, 'second');
    vi.advanceTimersByTime(99);
    expect(disk.syncs).toHaveLength(0);
    vi.advanceTimersByTime(1);
    expect(disk.syncs).toHaveLength(1);
    disk.syncs[0]?.(null);
    vi.advanceTimersByTime(1000);
    expect(disk.syncs).toHaveLength(1);
    use(account, 'third');
    vi.advanceTimersByTime(100);
    expect(disk.syncs).toHaveLength(2);
  });

  it('that fails ends the account', () => {
    const account = opened();
    use(account, 'first');
    vi.advanceTimersByTime(100);
    disk.syncs[0]?.(new Error('EIO: i/o error'));
    expect(failed.mock.calls).toEqual([[`the account of uses in ${directory} cannot be written: EIO: i/o error`]]);
    account.add('second');
    expect(() => {
      account.flush();
    }).toThrow('the account of uses cannot be written');
    expect(lines(1)).toHaveLength(2);
  });
});

describe('an account that cannot be written', () => {
  it('stops all answers of its thread, even when there is room again, and reports why once', () => {
    const account = opened();
    disk.full = true;
    account.add('first');
    expect(() => {
      account.flush();
    }).toThrow('ENOSPC');
    disk.full = false;
    for (const each of ['second', 'third']) {
      expect(() => {
        use(account, each);
      }).toThrow('the account of uses cannot be written');
    }
    expect(() => {
      account.flush();
    }).toThrow('the account of uses cannot be written');
    expect(failed.mock.calls).toEqual([[`the account of uses in ${directory} cannot be written: ENOSPC: no space left on device`]]);
    expect(lines(1)).toHaveLength(1);
  });

  it('keeps its thread from starting', () => {
    const file = join(directory, 'file');
    writeFileSync(file, '');
    expect(() => new UseAccount({ directory: file, chain: 0, rotateBytes: 1, failed })).toThrow(
      `the account of uses in ${file} cannot be written: ENOTDIR`,
    );
    disk.full = true;
    expect(() => opened()).toThrow(`the account of uses in ${directory} cannot be written: ENOSPC`);
    expect(failed).not.toHaveBeenCalled();
  });
});
