import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { Arrival } from '../../../src/documents/transfer/arrival.ts';
import type { ArrivingContent, Filled } from '../../../src/documents/transfer/contents.ts';
import { closing } from '../../../src/documents/paths/descriptors.ts';
import { Refusal } from '../../../src/result-codes.ts';
import type { StateStore } from '../../../src/state/state-store.ts';
import { StoreHere } from '../../support/store-here.ts';

const mebibyte = 1 << 20;
const directory = mkdtempSync(join(tmpdir(), 'signetd-arrival-'));
const path = join(directory, 'content');
const state = StoreHere.open(join(directory, 'state.sqlite'));
afterAll(async () => {
  await (await state).close();
  rmSync(directory, { recursive: true, force: true });
});

/** Counts the syncs of a file that is written; writes may be cut short. */
class Syncs {
  count = 0;
  /** Bytes that one write takes at most. */
  writeMaxBytes = Infinity;
  /** Whether each sync fails. */
  fail = false;

  around(handle: FileHandle): FileHandle {
    const datasync = async (): Promise<void> => {
      this.count += 1;
      return this.fail ? Promise.reject(new Error('the disk is broken')) : Promise.resolve();
    };
    const writev = async (pieces: readonly Uint8Array[]): Promise<{ bytesWritten: number; buffers: readonly Uint8Array[] }> => {
      const all = Buffer.concat(pieces).subarray(0, this.writeMaxBytes);
      await handle.writeFile(all);
      return { bytesWritten: all.length, buffers: pieces };
    };
    return Object.assign(Object.create(handle) as FileHandle, { datasync, writev, writeFile: handle.writeFile.bind(handle) });
  }
}

interface Case {
  readonly pieces: readonly (readonly Uint8Array[])[];
  readonly reserved?: number;
  /** Bytes of the tenant's share. */
  readonly share?: number;
  readonly isLasting?: boolean;
  readonly syncs?: Syncs;
}

interface Taken {
  readonly filled: Filled | string;
  /** By how much the reservation grew, and what was refused. */
  readonly reservations: readonly string[];
  readonly content: Buffer;
}

/** Receives pieces in a file, of which so many bytes were reserved. */
async function taken({ pieces, reserved = 0, share = 1e9, isLasting = true, syncs = new Syncs() }: Case): Promise<Taken> {
  const store = await state;
  const id = randomBytes(32).toString('base64url');
  const quota = { bytes: share, files: 10 };
  const row = { id, tenant: id, owner: 'one', media_type: 'x/y', file_name: null, ends_at: 1e15, quota };
  await store.run('beginTransfer', { ...row, bytes: reserved });
  const reservations: string[] = [];
  const told = new Proxy(store, {
    get: (target, name: keyof StateStore) =>
      name === 'run'
        ? async (operation: 'growTransfer', argument: { id: string; by: number; quota: typeof quota }) => {
            const isGrown = await target.run(operation, argument);
            reservations.push(`${isGrown ? 'grown' : 'refused'} ${argument.by}`);
            return isGrown;
          }
        : Reflect.get(target, name),
  });
  const file = await open(path, 'w');
  const filled = await closing(file, async () => {
    const content: ArrivingContent = {
      ...{ handle: syncs.around(file), isLasting },
      keep: async () => Promise.resolve(),
      close: async () => Promise.resolve(),
    };
    const arrival = new Arrival(content, { id, store: told, quota, reserved });
    async function* source(): AsyncGenerator<readonly Uint8Array[]> {
      for (const batch of pieces) yield await Promise.resolve(batch);
    }
    return closing(arrival, async () => arrival.take(source())).catch((error: unknown) => {
      if (error instanceof Refusal) return error.code;
      throw error;
    });
  });
  return { filled, reservations, content: readFileSync(path) };
}

describe('a file that arrives', () => {
  it('is written as it came, whatever is written at once', async () => {
    const pieces = [[randomBytes(3000), randomBytes(1)], [randomBytes(5000)], [], [new Uint8Array(), randomBytes(20)]];
    const whole = Buffer.concat(pieces.flat());
    const filled = { bytes: whole.length, sha256: createHash('sha256').update(whole).digest('hex') };
    for (const writeMaxBytes of [Infinity, 3000, 1, 0]) {
      const syncs = Object.assign(new Syncs(), { writeMaxBytes });
      const result = await taken({ pieces, syncs });
      expect([result.filled, result.content.equals(whole)]).toEqual([filled, true]);
    }
  });

  it('takes no more of the share than was reserved for it', async () => {
    expect((await taken({ pieces: [[Buffer.alloc(10)], [Buffer.alloc(90)]], reserved: 100 })).reservations).toEqual([]);
    expect((await taken({ pieces: [[Buffer.alloc(10)], [Buffer.alloc(91)]], reserved: 100 })).reservations).toEqual([`grown ${mebibyte}`]);
  });

  it('of unknown size reserves as much again as it has, between 1 and 64 MiB', async () => {
    const pieces = Array.from({ length: 40 }, () => [Buffer.alloc(5 * mebibyte)]);
    const { reservations } = await taken({ pieces, isLasting: false });
    // Five at once are more than one.
    expect(reservations).toEqual([5, 5, 10, 20, 40, 64, 64].map((bytes) => `grown ${bytes * mebibyte}`));
  });

  it('reserves what it needs where the share has no more, and is refused where that is too much', async () => {
    const within = await taken({ pieces: [[Buffer.alloc(60)], [Buffer.alloc(40)]], share: 100 });
    expect(within).toMatchObject({
      filled: { bytes: 100 },
      reservations: [`refused ${mebibyte}`, 'grown 60', `refused ${mebibyte}`, 'grown 40'],
    });
    const beyond = await taken({ pieces: [[Buffer.alloc(60)], [Buffer.alloc(41)]], share: 100 });
    expect([beyond.filled, beyond.reservations.at(-1), beyond.content.length]).toEqual(['STORE_FULL', 'refused 41', 60]);
    // The same number is not asked for twice.
    const large = await taken({ pieces: [[Buffer.alloc(2 * mebibyte)]], share: mebibyte });
    expect([large.filled, large.reservations]).toEqual(['STORE_FULL', [`refused ${2 * mebibyte}`]]);
  });

  it('is synced on the way every 32 MiB where the file remains, and not otherwise', async () => {
    const piecesOf = (mebibytes: number) => Array.from({ length: mebibytes }, () => [Buffer.alloc(mebibyte)]);
    for (const [mebibytes, isLasting, count] of [
      [31, true, 0],
      [32, true, 1],
      [63, true, 1],
      [64, true, 2],
      [64, false, 0],
    ] as const) {
      const syncs = new Syncs();
      await taken({ pieces: piecesOf(mebibytes), isLasting, syncs });
      expect(syncs.count).toBe(count);
    }
  });
});
