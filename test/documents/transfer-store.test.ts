import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, rmSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { StateConfig } from '../../src/config/state-config.ts';
import { TransferStoreConfig } from '../../src/config/transfer-store-config.ts';
import { closing } from '../../src/documents/paths/descriptors.ts';
import { TransferStore } from '../../src/documents/transfer/transfer-store.ts';
import { Refusal } from '../../src/result-codes.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { noSmallDisk, SmallDisk } from '../audit/small-disk.ts';
import { databases } from '../state/databases.ts';
import { noObjectStore } from '../support/object-store.ts';
import { recordingLog } from '../support/silent-log.ts';
import { skipNote } from '../support/skip-note.ts';
import { namesIn, putInto, transferPlaces } from './transfer-places.ts';

const threads = new WorkThreads();
afterAll(async () => threads.stop());

const description = { tenant: 'demo', mediaType: 'text/plain', fileName: 'a.txt' };
const kibibyte = 1024;

async function* piecesOf(...pieces: readonly (Buffer | Error)[]): AsyncGenerator<readonly Buffer[]> {
  for (const piece of pieces) {
    if (piece instanceof Error) throw piece;
    yield await Promise.resolve([piece.subarray(0, 1), piece.subarray(1)]);
  }
}

const codeOf = async (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof Refusal ? error.code : String(error)),
  );

const hasBucket = noObjectStore === undefined;

it.skipIf(!hasBucket)(`the suite runs on a bucket too${skipNote(noObjectStore)}`, () => {
  expect(hasBucket).toBe(true);
});

describe.each([
  ['SQLite and a directory', databases.SQLite, transferPlaces.directory] as const,
  ['PostgreSQL and a directory', databases.PostgreSQL, transferPlaces.directory] as const,
  ...(hasBucket ? [['SQLite and a bucket', databases.SQLite, transferPlaces.bucket] as const] : []),
])('the transfer store on %s', (_name, makeDatabase, makePlace) => {
  const database = makeDatabase();
  const place = makePlace();
  let state: StateConfig;
  /** Of all tests; opened again after a stop. */
  let common: StateStore | undefined;
  let opened: TransferStore | undefined;

  beforeAll(async () => {
    await place.start();
    await database.start();
    state = await database.fresh();
  });
  afterAll(async () => {
    await common?.close();
    await database.stop();
    await place.stop();
  });
  afterEach(async () => {
    // The next test finds no file of this one.
    for (const name of namesIn(place)) {
      await opened?.remove('demo', name);
      rmSync(join(place.directory, name), { force: true });
    }
    await opened?.stop();
    opened = undefined;
    expect(place.isSpoolEmpty()).toBe(true);
  });

  const start = async (
    settings: Readonly<Record<string, number | string>> = {},
    owner = 'one',
  ): Promise<{ transfers: TransferStore; store: StateStore }> => {
    common ??= await openStateStore(state, recordingLog());
    const config = TransferStoreConfig.parse({ ...place.settings(), ...settings });
    const metrics = { moved: () => undefined, removed: () => undefined };
    opened = await TransferStore.open({ store: common, config, owner, threads, log: recordingLog(), metrics });
    return { transfers: opened, store: common };
  };
  const stop = async (): Promise<void> => {
    await opened?.stop();
    await common?.close();
    opened = common = undefined;
  };
  const read = async (transfers: TransferStore, id: string, tenant = 'demo'): Promise<Buffer | undefined> => {
    const found = await transfers.openFile(tenant, id);
    return found === undefined ? undefined : closing(found.handle, async () => found.handle.readFile());
  };
  const shares = async (store: StateStore): Promise<unknown> => store.run('transferShares');

  it('keeps a file as it came, over a restart, for its tenant alone', async () => {
    const content = randomBytes(3 * kibibyte * kibibyte);
    const first = await start();
    const stored = await first.transfers.receive(piecesOf(content.subarray(0, 70_000), content.subarray(70_000)), {
      ...description,
      announced: undefined,
    });
    expect(stored).toEqual({ fileID: stored.fileID, fileSize: content.length, sha256: createHash('sha256').update(content).digest('hex') });
    await stop();
    const { transfers, store } = await start();
    expect((await read(transfers, stored.fileID))?.equals(content)).toBe(true);
    expect(await read(transfers, stored.fileID, 'other')).toBeUndefined();
    expect(await transfers.remove('other', stored.fileID)).toBe(false);
    expect(await shares(store)).toEqual([{ tenant: 'demo', bytes: content.length, files: 1 }]);
  });

  it('keeps evidence that is made of pieces, which nobody can fetch before it is published', async () => {
    const { transfers, store } = await start();
    for (const size of [10, 600 * kibibyte]) {
      const pieces = [Buffer.alloc(size, 1), Buffer.alloc(size, 2)];
      const staged = await transfers.stage(pieces, description);
      const { fileID, sha256 } = staged.file;
      expect(await read(transfers, fileID)).toBeUndefined();
      await store.commit([staged.staging()]);
      staged.release();
      expect(await read(transfers, fileID)).toBeUndefined();
      await store.commit([staged.publishing()]);
      expect(sha256).toBe(createHash('sha256').update(Buffer.concat(pieces)).digest('hex'));
      expect((await read(transfers, fileID))?.equals(Buffer.concat(pieces))).toBe(true);
    }
  });

  it('removes a file for good: from the answer on nobody finds it, and its share is free', async () => {
    const { transfers, store } = await start();
    const { fileID } = await transfers.receive(piecesOf(Buffer.from('x')), { ...description, announced: 1 });
    const held = await transfers.openFile('demo', fileID);
    expect(await transfers.remove('demo', fileID)).toBe(true);
    expect(await transfers.remove('demo', fileID)).toBe(false);
    expect(await read(transfers, fileID)).toBeUndefined();
    expect(namesIn(place)).toEqual([]);
    expect(await shares(store)).toEqual([{ tenant: 'demo', bytes: 0, files: 0 }]);
    // Who reads it already reads on.
    expect(await held?.handle.readFile('utf8')).toBe('x');
    await held?.handle.close();
  });

  it('finds nothing by an identifier that is none, such as a path', async () => {
    const { transfers } = await start();
    putInto(place, 'x', 'x');
    for (const id of ['', 'x', '../x', `${'a'.repeat(42)}/`, 'é'.repeat(43)]) expect(await read(transfers, id)).toBeUndefined();
  });

  it('leaves nothing of a file that breaks off, that is too large for the quota, or larger than announced and too large', async () => {
    const { transfers, store } = await start({ fileMaxBytes: 8 * kibibyte, tenantMaxBytes: 8 * kibibyte });
    const big = Buffer.alloc(9 * kibibyte);
    const receive = async (announced: number | undefined, ...pieces: readonly (Buffer | Error)[]): Promise<string> =>
      codeOf(transfers.receive(piecesOf(...pieces), { ...description, announced }));
    expect(await receive(undefined, Buffer.from('half'), new Error('gone'))).toBe('Error: gone');
    expect(await receive(big.length, big)).toBe('STORE_FULL');
    expect(await receive(undefined, big)).toBe('STORE_FULL');
    expect(await receive(10, big)).toBe('STORE_FULL');
    expect(namesIn(place)).toEqual([]);
    expect(await shares(store)).toEqual([{ tenant: 'demo', bytes: 0, files: 0 }]);
    expect(await receive(8 * kibibyte, Buffer.alloc(8 * kibibyte))).toBe('done');
    expect(await receive(0)).toBe('done');
    expect(await receive(1, Buffer.from('x'))).toBe('STORE_FULL');
  });

  it('counts uploads that are on their way: no more than the quota ever arrive at once, by bytes and by number', async () => {
    const { transfers, store } = await start({ fileMaxBytes: 100, tenantMaxBytes: 1000, tenantMaxFiles: 8 });
    const outcomes = await Promise.all(
      Array.from({ length: 30 }, async (_, index) =>
        codeOf(transfers.receive(piecesOf(Buffer.alloc(100)), { ...description, announced: index % 2 === 0 ? 100 : undefined })),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(8);
    expect(await shares(store)).toEqual([{ tenant: 'demo', bytes: 800, files: 8 }]);
  });

  it('lets files expire', async () => {
    const { transfers, store } = await start({ keepSeconds: 1 });
    const { fileID } = await transfers.receive(piecesOf(Buffer.from('x')), { ...description, announced: 1 });
    await expect.poll(async () => read(transfers, fileID), { timeout: 10_000 }).toBeUndefined();
    await expect.poll(() => namesIn(place), { timeout: 20_000 }).toEqual([]);
    await expect.poll(async () => shares(store), { timeout: 10_000 }).toEqual([{ tenant: 'demo', bytes: 0, files: 0 }]);
  });

  it('removes at the start what was on its way when the instance died, and files that nobody knows once any would have expired', async () => {
    const first = await start();
    const { store } = first;
    const quota = { bytes: 1000, files: 10 };
    const row = { tenant: 'demo', media_type: 'text/plain', file_name: null, bytes: 500, quota, ends_at: Date.now() + 60_000 };
    const dead = 'd'.repeat(43);
    await store.run('beginTransfer', { ...row, id: dead, owner: 'one' });
    putInto(place, dead, 'half');
    const [old, fresh] = ['o'.repeat(43), 'f'.repeat(43)];
    for (const stray of [fresh, 'note.txt']) putInto(place, stray);
    utimesSync(putInto(place, old), 0, 0);
    await stop();
    const second = await start();
    expect(namesIn(place)).not.toContain(dead);
    expect(await shares(second.store)).toEqual([{ tenant: 'demo', bytes: 0, files: 0 }]);
    await expect.poll(() => namesIn(place)).toEqual([fresh, 'note.txt'].toSorted());
  });

  it.skipIf(noSmallDisk !== undefined)(`says STORE_FULL where the disk is full, and leaves nothing${skipNote(noSmallDisk)}`, async () => {
    const disk = new SmallDisk(256 * kibibyte);
    try {
      const { transfers, store } = await start({ directory: disk.directory });
      disk.fill(4);
      const big = Buffer.alloc(128 * kibibyte);
      expect(await codeOf(transfers.receive(piecesOf(big), { ...description, announced: undefined }))).toBe('STORE_FULL');
      expect(await codeOf(transfers.stage([big], description))).toBe('STORE_FULL');
      expect(await codeOf(transfers.stage([big, big, big], description))).toBe('STORE_FULL');
      expect(readdirSync(disk.directory)).toEqual(['filler']);
      expect(await shares(store)).toEqual([{ tenant: 'demo', bytes: 0, files: 0 }]);
      disk.empty();
      expect(await codeOf(transfers.stage([big], description))).toBe('done');
      await stop();
    } finally {
      disk.remove();
    }
  });
});

describe.each([['directory', transferPlaces.directory] as const, ...(hasBucket ? [['bucket', transferPlaces.bucket] as const] : [])])(
  'two instances with one database and one %s',
  (_name, makePlace) => {
    const database = databases.PostgreSQL();
    const place = makePlace();
    beforeAll(async () => {
      await place.start();
      await database.start();
    });
    afterAll(async () => {
      await database.stop();
      await place.stop();
    });

    it('share files and quota, and leave alone what arrives at the other', async () => {
      const state = await database.fresh();
      const open = async (owner: string): Promise<{ store: StateStore; transfers: TransferStore }> => {
        const store = await openStateStore(state, recordingLog());
        const config = TransferStoreConfig.parse({ ...place.settings(), fileMaxBytes: 100, tenantMaxBytes: 1000 });
        const metrics = { moved: () => undefined, removed: () => undefined };
        return { store, transfers: await TransferStore.open({ store, config, owner, threads, log: recordingLog(), metrics }) };
      };
      const one = await open('one');
      const goOn = Promise.withResolvers<void>();
      const begun = Promise.withResolvers<void>();
      const slowly = async function* (): AsyncGenerator<readonly Buffer[]> {
        yield [Buffer.from('be')];
        begun.resolve();
        await goOn.promise;
        yield [Buffer.from('gun')];
      };
      const arriving = one.transfers.receive(slowly(), { ...description, announced: 5 });
      await begun.promise;
      // Starts, and so removes what it left itself, while the other is at work.
      const two = await open('two');
      const outcomes = await Promise.all(
        Array.from({ length: 24 }, async (_, index) =>
          codeOf((index % 2 === 0 ? one : two).transfers.receive(piecesOf(Buffer.alloc(95)), { ...description, announced: 95 })),
        ),
      );
      expect(outcomes.filter((outcome) => outcome === 'done')).toHaveLength(10);
      goOn.resolve();
      const { fileID } = await arriving;
      const found = await two.transfers.openFile('demo', fileID);
      expect(await found?.handle.readFile('utf8')).toBe('begun');
      await found?.handle.close();
      expect(await two.transfers.remove('demo', fileID)).toBe(true);
      expect(await one.transfers.openFile('demo', fileID)).toBeUndefined();
      expect(await two.store.run('transferShares')).toEqual([{ tenant: 'demo', bytes: 950, files: 10 }]);
      for (const { transfers, store } of [one, two]) {
        await transfers.stop();
        await store.close();
      }
    });
  },
);
