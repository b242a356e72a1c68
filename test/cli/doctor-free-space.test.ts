import { mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { freeSpace } from '../../src/cli/doctor/free-space.ts';
import type { Config } from '../../src/config/config.ts';

const mebibyte = 1024 * 1024;
let directory: string;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-space-'));
});

afterEach(() => {
  rmSync(directory, { recursive: true, force: true });
});

async function found(availableMebibytes: number, isRunning = true): Promise<string[]> {
  const config = {
    audit: { enabled: true, directory },
    state: { kind: 'sqlite', path: join(directory, 'state.sqlite') },
    sessions: { scratchDirectory: directory },
    listeners: { api: { clientRevocationUrls: [] } },
  } as unknown as Config;
  const space = async (): Promise<{ availableBytes: number; sizeBytes: number }> =>
    Promise.resolve({ availableBytes: availableMebibytes * mebibyte, sizeBytes: 1000 * mebibyte });
  return (await freeSpace(config, isRunning, space)).map(({ state, text }) => `${state}: ${text.replaceAll(directory, 'DIR')}`);
}

const left = (mebibytes: number): string =>
  `audit.directory, state.path, sessions.scratchDirectory: the disk of DIR has ${mebibytes} MiB of 1000 MiB left`;

describe('the space on the disks', () => {
  it('is not mentioned where a tenth or more is left', async () => {
    expect(await found(100)).toEqual([]);
  });

  it('is a warning below a tenth, once for a disk', async () => {
    expect(await found(99)).toEqual([`warning: ${left(99)}, less than a tenth: free space on it`]);
  });

  it('is a warning where the audit log grew by more within a day', async () => {
    const [recent, old] = ['audit-00000002.jsonl', 'audit-00000001.jsonl'].map((name) => join(directory, name));
    for (const file of [recent, old]) writeFileSync(file ?? '', Buffer.alloc(150 * mebibyte));
    const twoDaysAgo = Date.now() / 1000 - 2 * 86_400;
    utimesSync(old ?? '', twoDaysAgo, twoDaysAgo);
    expect(await found(149)).toEqual([`warning: ${left(149)}, and the audit log grew by about 150 MiB within a day: free space on it`]);
    expect(await found(151)).toEqual([]);
  });

  it('is a fault of a running service where nearly nothing is left; of a stopped one another check tells', async () => {
    expect(await found(15)).toEqual([`fault: ${left(15)}: free space on it`]);
    expect(await found(15, false)).toEqual([]);
  });
});
