import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { TransferStoreConfig } from '../../../src/config/transfer-store-config.ts';
import type { ArrivingContent, ListedContent, TransferContents } from '../../../src/documents/transfer/contents.ts';
import { Sweeper } from '../../../src/documents/transfer/sweeper.ts';
import { TransferStore } from '../../../src/documents/transfer/transfer-store.ts';
import type { StateStore } from '../../../src/state/state-store.ts';
import { WorkThreads } from '../../../src/threads/work-threads.ts';
import { recordingLog } from '../../support/silent-log.ts';
import { StoreHere } from '../../support/store-here.ts';
import { turnsUntil } from '../../support/turns-until.ts';

const base = mkdtempSync(join(tmpdir(), 'signetd-sweeper-'));
const threads = new WorkThreads();
const keepSeconds = 600;
const keepMs = 1000 * keepSeconds;
const started = Date.UTC(2030, 0, 1);
let store: StateStore;
let tenant: string;
let removed: number[] = [];
const metrics = {
  moved: () => undefined,
  removed: (files: number) => {
    removed.push(files);
  },
};
const newId = (): string => randomBytes(32).toString('base64url');

beforeAll(async () => {
  store = await StoreHere.open(join(base, 'state.sqlite'));
});
beforeEach(async () => {
  tenant = newId();
  removed = [];
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'], now: started });
});
afterEach(async () => {
  vi.useRealTimers();
  // The next test finds no file of this one.
  for (;;) {
    const ended = await store.run('endedTransfers', { now: Number.MAX_SAFE_INTEGER, limit: 1000 });
    if (ended.length === 0) return;
    for (const id of ended) await store.run('forgetTransfer', id);
  }
});
afterAll(async () => {
  await store.close();
  await threads.stop();
  rmSync(base, { recursive: true, force: true });
});

/** Contents in memory: an identifier, and when it was changed. */
class ContentsInMemory implements TransferContents {
  readonly files = new Map<string, number>();
  readonly stuck = new Set<string>();
  fault: string | undefined;
  removals = 0;
  listings = 0;

  async prepare(): Promise<void> {
    return Promise.resolve();
  }

  async create(): Promise<ArrivingContent> {
    return Promise.reject(new Error('nothing arrives'));
  }

  async open(): Promise<FileHandle | undefined> {
    return Promise.resolve(undefined);
  }

  async openInOrder(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  async remove(id: string): Promise<void> {
    this.removals += 1;
    if (this.stuck.has(id)) throw new Error('it is stuck');
    this.files.delete(id);
    return Promise.resolve();
  }

  async *list(): AsyncGenerator<readonly ListedContent[], void> {
    this.listings += 1;
    const all = Array.from(this.files, ([id, changedAtMs]) => ({ id, changedAtMs }));
    // In more than one list.
    yield Promise.resolve(all.slice(0, 1));
    yield all.slice(1);
  }

  async probe(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    // Nothing is open.
  }
}

async function stored(endsAt: number): Promise<string> {
  const id = newId();
  const quota = { bytes: 1e6, files: 1e6 };
  const row = { id, tenant, owner: 'one', bytes: 1, media_type: 'text/plain', file_name: null, ends_at: endsAt, quota };
  await store.run('beginTransfer', row);
  await store.run('storeTransfer', { id, bytes: 1, sha256: 'aa', ends_at: endsAt });
  return id;
}
const known = async (...ids: string[]): Promise<string[]> => store.run('knownTransfers', ids);

function sweeperOf(contents: TransferContents, log = recordingLog()): Sweeper {
  const config = TransferStoreConfig.parse({ directory: base, keepSeconds });
  return new Sweeper({ store, config, contents, owner: 'one', threads, log, metrics });
}

describe('a sweep', () => {
  it('removes what has ended, at the start and then every half minute', async () => {
    const contents = new ContentsInMemory();
    const [ended, later, open] = [await stored(started), await stored(started + 20_000), await stored(started + 60_000)];
    for (const id of [ended, later, open]) contents.files.set(id, started);
    const sweeper = sweeperOf(contents);
    await sweeper.start();
    expect([[...contents.files.keys()], removed]).toEqual([[later, open], [1]]);
    expect(await known(ended, later, open)).toHaveLength(2);
    vi.advanceTimersByTime(29_999);
    expect(removed).toEqual([1]);
    vi.advanceTimersByTime(1);
    await turnsUntil(() => removed.length === 2);
    expect(removed).toEqual([1, 1]);
    expect([...contents.files.keys()]).toEqual([open]);
    await sweeper.stop();
    vi.advanceTimersByTime(120_000);
    expect(removed).toEqual([1, 1]);
  });

  it('removes all that has ended, also where that is much, and ends where nothing can be removed', async () => {
    const contents = new ContentsInMemory();
    for (let file = 0; file < 230; file += 1) contents.files.set(await stored(started), started);
    const sweeper = sweeperOf(contents);
    await sweeper.start();
    expect([contents.files.size, removed]).toEqual([0, [100, 100, 30]]);
    await sweeper.stop();
    const log = recordingLog();
    const stuck = new ContentsInMemory();
    for (let file = 0; file < 100; file += 1) stuck.stuck.add(await stored(started));
    const second = sweeperOf(stuck, log);
    await second.start();
    expect([stuck.removals, removed.at(-1)]).toEqual([100, 0]);
    expect(await known(...stuck.stuck)).toHaveLength(100);
    expect(log.lines.filter((line) => line.includes('could not be removed yet'))).toHaveLength(100);
    await second.stop();
  });

  it('keeps the row of a file that cannot be removed, and tries again next time', async () => {
    const contents = new ContentsInMemory();
    const id = await stored(started);
    contents.stuck.add(id);
    const sweeper = sweeperOf(contents);
    await sweeper.start();
    expect(await sweeper.discard(id)).toBe(false);
    expect(await known(id)).toEqual([id]);
    contents.stuck.clear();
    vi.advanceTimersByTime(30_000);
    await turnsUntil(async () => (await known(id)).length === 0);
    expect(await sweeper.discard(newId())).toBe(true);
    await sweeper.stop();
  });

  it('removes nothing while the place cannot be used', async () => {
    const contents = new ContentsInMemory();
    const id = await stored(started);
    contents.fault = 'away';
    const sweeper = sweeperOf(contents);
    await sweeper.start();
    expect([contents.removals, removed]).toEqual([0, []]);
    contents.fault = undefined;
    vi.advanceTimersByTime(30_000);
    await turnsUntil(async () => (await known(id)).length === 0);
    await sweeper.stop();
  });

  it('goes on after one that failed', async () => {
    const contents = new ContentsInMemory();
    const log = recordingLog();
    contents.probe = async () => Promise.reject(new Error('this once'));
    const sweeper = sweeperOf(contents, log);
    await sweeper.start();
    expect(log.lines).toEqual([expect.stringContaining('sweeping the transfer store failed')]);
    await sweeper.stop();
  });
});

describe('a file that the state store does not know', () => {
  it('is kept until any file would have expired, and others are kept however old', async () => {
    const contents = new ContentsInMemory();
    const old = newId();
    const fresh = newId();
    const knownOne = await stored(started + 2 * keepMs);
    contents.files
      .set(old, started - keepMs)
      .set(fresh, started - keepMs + 1)
      .set(knownOne, 0);
    const log = recordingLog();
    const sweeper = sweeperOf(contents, log);
    await sweeper.start();
    await turnsUntil(() => log.lines.length > 0);
    expect([...contents.files.keys()]).toEqual([fresh, knownOne]);
    expect(log.lines).toEqual([expect.stringContaining('unknown to the state store {"files":1}')]);
    expect(removed).toEqual([0]);
    // The next search is in an hour.
    vi.advanceTimersByTime(3_599_999);
    expect(contents.listings).toBe(1);
    vi.advanceTimersByTime(1);
    await turnsUntil(() => !contents.files.has(fresh));
    await sweeper.stop();
    vi.advanceTimersByTime(3_600_000);
    expect(contents.listings).toBe(2);
  });

  it('is no reason to fail where it cannot be removed', async () => {
    const contents = new ContentsInMemory();
    const id = newId();
    contents.files.set(id, 0);
    contents.stuck.add(id);
    const log = recordingLog();
    const sweeper = sweeperOf(contents, log);
    await sweeper.start();
    await turnsUntil(() => log.lines.length > 0);
    expect(log.lines).toEqual([expect.stringContaining('searching the transfer store for stray files failed')]);
    await sweeper.stop();
  });
});

describe('a transfer store', () => {
  const open = async (directory: string): Promise<TransferStore> =>
    TransferStore.open({
      ...{ store, owner: 'one', threads, log: recordingLog(), metrics },
      config: TransferStoreConfig.parse({ directory, keepSeconds }),
    });
  async function* piecesOf(content: string): AsyncGenerator<readonly Buffer[]> {
    yield await Promise.resolve([Buffer.from(content)]);
  }
  const received = async (transfers: TransferStore): Promise<string> =>
    (await transfers.receive(piecesOf('x'), { tenant, mediaType: 'text/plain', fileName: undefined, announced: 1 })).fileID;

  it('gives no file after its end, before any sweep has found it', async () => {
    const directory = join(base, 'expiring');
    const transfers = await open(directory);
    const id = await received(transfers);
    vi.setSystemTime(started + keepMs - 1);
    const reading = await transfers.openDownload(tenant, id);
    expect(reading?.file.ends_at).toBe(started + keepMs);
    await reading?.reader.close();
    vi.setSystemTime(started + keepMs);
    expect([await transfers.openFile(tenant, id), await transfers.openDownload(tenant, id)]).toEqual([undefined, undefined]);
    expect(await transfers.remove(tenant, id)).toBe(false);
    expect([readdirSync(directory), await known(id)]).toEqual([[id], [id]]);
    await transfers.stop();
  });

  it('renews what arrives every ten seconds, so that no sweep takes it for abandoned', async () => {
    const transfers = await open(join(base, 'arriving'));
    const gate = Promise.withResolvers<undefined>();
    const begun = Promise.withResolvers<undefined>();
    const slowly = async function* (): AsyncGenerator<readonly Buffer[]> {
      yield [Buffer.from('be')];
      begun.resolve(undefined);
      await gate.promise;
      yield [Buffer.from('gun')];
    };
    const arriving = transfers.receive(slowly(), { tenant, mediaType: 'text/plain', fileName: 'a', announced: 5 });
    await begun.promise;
    const abandonedBy = async (at: number): Promise<number> => (await store.run('endedTransfers', { now: at, limit: 10 })).length;
    expect(await abandonedBy(started + 59_999)).toBe(0);
    vi.advanceTimersByTime(10_000);
    await store.run('probe');
    expect(await abandonedBy(started + 69_999)).toBe(0);
    gate.resolve(undefined);
    expect((await arriving).fileSize).toBe(5);
    await transfers.stop();
    const other = await store.run('beginTransfer', {
      ...{ id: newId(), tenant, owner: 'two', bytes: 1, media_type: 'x/y', file_name: null, ends_at: started + 60_000 },
      quota: { bytes: 1e6, files: 1e6 },
    });
    expect([other, await abandonedBy(started + 60_000)]).toEqual([true, 1]);
  });

  it('says that a file has another size on the disk than it was stored with', async () => {
    const directory = join(base, 'damaged');
    const transfers = await open(directory);
    const id = await received(transfers);
    writeFileSync(join(directory, id), 'xy');
    await expect(transfers.openFile(tenant, id)).rejects.toThrow('has 2 bytes on disk, but was stored with 1');
    rmSync(join(directory, id));
    expect(await transfers.openFile(tenant, id)).toBeUndefined();
    // It is removed all the same.
    expect(await transfers.remove(tenant, id)).toBe(true);
    expect(transfers.warnings()).toEqual({});
    await transfers.stop();
  });
});
