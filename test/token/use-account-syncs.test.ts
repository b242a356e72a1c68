import { mkdtempSync, readdirSync, rmSync, type closeSync, type fdatasync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, expect, it, vi } from 'vitest';
import { UseAccount } from '../../src/token/host/use-account.ts';

const seen = vi.hoisted(() => ({ closed: [] as number[], faults: [] as unknown[], syncs: 0 }));
/** A disk that takes longer for a sync than it is until the next one. */
const slowMs = 350;

vi.mock('node:fs', async (original) => {
  const fs = await original<{ closeSync: typeof closeSync; fdatasync: typeof fdatasync }>();
  return {
    ...fs,
    fdatasync: (_fd: number, told: (error: null) => void) => {
      seen.syncs += 1;
      setTimeout(() => {
        told(null);
      }, slowMs);
    },
    closeSync: (fd: number) => {
      seen.closed.push(fd);
      try {
        fs.closeSync(fd);
      } catch (error) {
        seen.faults.push(error);
      }
    },
  };
});

const directory = mkdtempSync(join(tmpdir(), 'signetd-account-syncs-'));

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

it('closes each file of the account once, however long its syncs take', async () => {
  const failed = vi.fn<(reason: string) => void>();
  const account = new UseAccount({ directory, chain: 0, rotateBytes: 1500, failed });
  for (let n = 0; n < 60; n += 1) {
    account.add(`sign 43 ECDSA sha256:${String(n).padStart(64, '0')}`);
    account.flush();
    await delay(25);
  }
  await delay(3 * slowMs);
  expect(readdirSync(directory).length).toBeGreaterThan(5);
  expect(seen.syncs).toBeGreaterThan(3);
  expect(seen.faults).toEqual([]);
  expect(failed).not.toHaveBeenCalled();
});
