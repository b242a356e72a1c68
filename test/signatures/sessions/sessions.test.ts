import { createHmac, randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readSync, rmSync, writeFileSync, openSync, closeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { StateConfig } from '../../../src/config/state-config.ts';
import type { Content } from '../../../src/documents/content.ts';
import { Sessions, type SessionOptions } from '../../../src/signatures/sessions/sessions.ts';
import type { OpenSession } from '../../../src/signatures/sessions/open-session.ts';
import { documentsToRead, type SessionState } from '../../../src/signatures/sessions/session-state.ts';
import type { StateStore } from '../../../src/state/state-store.ts';
import { openStateStore } from '../../../src/state/threaded-store.ts';
import { databases } from '../../state/databases.ts';
import { recordingLog } from '../../support/silent-log.ts';
import { oneKey } from '../../support/sealing-keys.ts';

const key = randomBytes(32);
const mac = async (message: Uint8Array): Promise<Uint8Array> => Promise.resolve(createHmac('sha256', key).update(message).digest());
const scratchDirectory = mkdtempSync(join(tmpdir(), 'signetd-sessions-'));
const options: SessionOptions = {
  ttlSeconds: 3600,
  openMaxPerClient: 3,
  openMaxPerTenant: 5,
  spoolMaxBytes: 9_000_000,
  spoolMaxBytesPerTenant: 6_000_000,
  scratchDirectory,
};
const bare = (contents: readonly Content[]): SessionState => ({
  documents: contents.map((_, index) => ({ id: `d${index}`, fileName: undefined })),
  signatures: {
    ...{ format: 'raw', isText: false, algorithm: undefined, level: undefined, chain: undefined },
    prepared: contents.map((content, index) => ({
      ...{ id: `d${index}`, covers: [{ index }], hash: 'sha256', state: null },
      ...{ digest: Buffer.alloc(32), dataToSign: undefined, contents: [content] },
    })),
  },
});
const contentsOf = async (session: OpenSession): Promise<Content[]> =>
  (await session.signatures()).prepared.flatMap(({ contents }) => contents);
const alice = { tenant: 'demo', client: 'alice' };

afterAll(() => {
  rmSync(scratchDirectory, { recursive: true });
});

describe.each(Object.entries(databases))('sessions in %s', (_name, make) => {
  const database = make();
  let config: StateConfig;
  let store: StateStore;
  let sessions: Sessions;

  beforeAll(async () => {
    await database.start();
    config = await database.fresh();
    store = await openStateStore(config, recordingLog());
  });
  afterAll(async () => {
    await store.close();
    await database.stop();
  });
  beforeEach(() => {
    sessions = new Sessions(store, oneKey(mac));
  });
  afterEach(async () => {
    vi.useRealTimers();
    sessions.stop();
    // The next test finds no session of this one.
    await store.run('deleteEndedSessions', { now: Number.MAX_SAFE_INTEGER, limit: 1000 });
    while ((await store.run('deleteLooseSessionParts', { limit: 100 })) > 0);
  });

  const open = async (owner = alice, contents: readonly Uint8Array[] = [], more: Partial<SessionOptions> = {}): Promise<string> =>
    sessions.open(owner, { state: bare(contents), check: async () => Promise.resolve() }, { ...options, ...more });
  const ids = async (threadId: string, tenant = 'demo'): Promise<string[]> =>
    sessions.whileOpen(tenant, threadId, options, async ({ state }) => Promise.resolve(state.documents.map(({ id }) => id)));
  const close = async (threadId: string, by = sessions): Promise<void> =>
    by.whileOpen('demo', threadId, options, async (session) => by.close(session, {}));
  const unknown = { code: 'SESSION_UNKNOWN' };

  it('keeps what was prepared and content of every size, in memory or in a file that has no name', async () => {
    const contents = [
      Buffer.alloc(0),
      randomBytes(10),
      randomBytes((1 << 20) - 1),
      randomBytes(1 << 20),
      randomBytes((1 << 20) + 1),
      randomBytes(2_500_000),
    ];
    const threadId = await open(alice, contents);
    await sessions.whileOpen('demo', threadId, options, async (session) => {
      const { prepared } = await session.signatures();
      expect(readdirSync(scratchDirectory)).toEqual([]);
      expect(prepared.map(({ id }) => id)).toEqual(contents.map((_, index) => `d${index}`));
      const kept = prepared.flatMap((one) => one.contents);
      expect(kept.map((content, index) => bytesOf(content).equals(contents[index] ?? Buffer.of(1)))).toEqual(contents.map(() => true));
      expect(kept.filter((content) => !(content instanceof Uint8Array))).toHaveLength(4);
    });
  });

  it('keeps content of a file', async () => {
    const path = join(scratchDirectory, 'content');
    const content = randomBytes(1_700_000);
    writeFileSync(path, content);
    const descriptor = openSync(path, 'r');
    const file: Content = { descriptor, bytes: content.length };
    const threadId = await sessions.open(alice, { state: bare([file]), check: async () => Promise.resolve() }, options);
    closeSync(descriptor);
    rmSync(path);
    await sessions.whileOpen('demo', threadId, options, async (session) => {
      const [kept = new Uint8Array()] = await contentsOf(session);
      expect(bytesOf(kept).equals(content)).toBe(true);
    });
  });

  it('returns contents in their order, whichever of them are stored, and takes no space for the others', async () => {
    const contentOf = fc.record({ bytes: fc.uint8Array({ maxLength: 50 }), isReadAgain: fc.boolean(), hasOrigin: fc.boolean() });
    const all = fc.array(fc.array(contentOf, { maxLength: 4 }), { minLength: 1, maxLength: 4 });
    await fc.assert(
      fc.asyncProperty(all, async (signatures) => {
        const flat = signatures.flat();
        const again = flat.filter(({ isReadAgain, hasOrigin }) => isReadAgain && hasOrigin);
        const state: SessionState = {
          documents: flat.map(({ hasOrigin }, index) => ({
            ...{ id: `d${index}`, fileName: undefined },
            origin: hasOrigin ? { filePath: `/${index}` } : undefined,
          })),
          signatures: {
            ...bare([]).signatures,
            prepared: signatures.map((contents) => ({
              ...({ id: 'd', covers: [], hash: 'sha256', state: null, digest: Buffer.alloc(32), dataToSign: undefined } as const),
              contents: contents.map(({ bytes }) => bytes),
              readAgain: contents.flatMap((one, content) =>
                one.isReadAgain ? [{ content, document: flat.indexOf(one), digest: { hash: 'sha256', value: Buffer.alloc(32) } }] : [],
              ),
            })),
          },
        };
        const threadId = await sessions.open(alice, { state, check: async () => Promise.resolve() }, options);
        await sessions.whileOpen('demo', threadId, options, async (session) => {
          const toRead = documentsToRead(session.state);
          expect(toRead.map(({ id, bytes }) => [id, bytes])).toEqual(again.map((one) => [`d${flat.indexOf(one)}`, one.bytes.length]));
          const { prepared } = await session.signatures(again.map(({ bytes }) => bytes));
          expect(prepared.map(({ contents }) => contents.map((one) => Buffer.from(bytesOf(one))))).toEqual(
            signatures.map((contents) => contents.map(({ bytes }) => Buffer.from(bytes))),
          );
          const parts = await Promise.all(
            Array.from({ length: flat.length + 2 }, async (_, item) => store.run('findSessionPart', { id: session.id, item, part: 0 })),
          );
          expect(parts.filter((part) => part !== undefined)).toHaveLength(1 + flat.length - again.length);
          if (again.length > 0) await expect(session.signatures()).rejects.toThrow('was not read again');
          await sessions.close(session, {});
        });
      }),
      { numRuns: 40 },
    );
  });

  it('opens nothing for content that changed, and leaves nothing of it', async () => {
    for (const content of [randomBytes(100), randomBytes(2_000_000)]) {
      const check = async (): Promise<void> => Promise.reject(new Error('changed'));
      await expect(sessions.open(alice, { state: bare([content]), check }, options)).rejects.toThrow('changed');
    }
    await sessions.sweep();
    expect(await store.run('deleteLooseSessionParts', { limit: 10 })).toBe(0);
  });

  it('is unknown to another tenant, after its end, and after it was closed', async () => {
    const threadId = await open();
    await expect(ids(threadId, 'other')).rejects.toMatchObject(unknown);
    expect(await ids(threadId)).toEqual([]);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_599_000 });
    expect(await ids(threadId)).toEqual([]);
    vi.setSystemTime(Date.now() + 1_001);
    await expect(ids(threadId)).rejects.toMatchObject(unknown);
    await expect(close(threadId)).rejects.toMatchObject(unknown);
    const other = await open();
    await close(other);
    await expect(ids(other)).rejects.toMatchObject(unknown);
  });

  it('is swept with its parts after its end', async () => {
    await open(alice, [randomBytes(3_000_000)], { ttlSeconds: 1 });
    const living = await open(alice, [randomBytes(2_000_000)]);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 1_001 });
    await sessions.sweep();
    expect(await store.run('deleteEndedSessions', { now: Date.now(), limit: 10 })).toBe(0);
    expect(await store.run('deleteLooseSessionParts', { limit: 10 })).toBe(0);
    expect(await ids(living)).toEqual(['d0']);
  });

  it('a large one that is closed leaves its parts to the next sweep, a small one leaves none', async () => {
    await close(await open(alice, []));
    expect(await store.run('deleteLooseSessionParts', { limit: 10 })).toBe(0);
    await close(await open(alice, [randomBytes(2_000_000)]));
    await sessions.sweep();
    expect(await store.run('deleteLooseSessionParts', { limit: 10 })).toBe(0);
  });

  it('are so many for a client and for a tenant, and not more', async () => {
    const refused = { code: 'STORE_FULL' };
    const first = await open();
    await open();
    await open();
    await expect(open()).rejects.toMatchObject({ ...refused, message: expect.stringContaining('this client already has 3') as string });
    const bob = { ...alice, client: 'bob' };
    await open(bob);
    await open(bob);
    await expect(open(bob)).rejects.toMatchObject({ ...refused, message: expect.stringContaining('this tenant already has 5') as string });
    await open({ tenant: 'other', client: 'carol' });
    await close(first);
    await open(bob);
  });

  it('hold so much content for a tenant and in all, and not more; what has ended makes room', async () => {
    const wide = { openMaxPerClient: 100, openMaxPerTenant: 100 };
    const four = randomBytes(4_000_000);
    await open(alice, [four], { ...wide, ttlSeconds: 10 });
    const ofTenant = { code: 'STORE_FULL', message: expect.stringContaining("this tenant's") as string };
    await expect(open(alice, [four], wide)).rejects.toMatchObject(ofTenant);
    await open({ tenant: 'other', client: 'carol' }, [four], wide);
    const third = { tenant: 'third', client: 'dan' };
    const inAll = { code: 'STORE_FULL', message: expect.stringContaining('in total') as string };
    await expect(open(third, [four], wide)).rejects.toMatchObject(inAll);
    // Without content it is no matter of the spool.
    await open(third, [], wide);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10_001 });
    await open(third, [four], wide);
  });

  it('lets nothing be read, swapped or cut in the state store', async () => {
    const content = Buffer.alloc(2_500_000, 'a document that nobody may read ');
    const threadId = await open(alice, [content]);
    const rows = await Promise.all([0, 1, 2].map(async (part) => storedPart(part)));
    for (const row of rows) {
      expect(Buffer.from(row.bytes).includes('nobody may read')).toBe(false);
      expect(row.id).not.toContain(threadId);
    }
    const reading = async (): Promise<unknown> => sessions.whileOpen('demo', threadId, options, contentsOf);
    const [first, second, third] = rows;
    if (first === undefined || second === undefined || third === undefined) throw new Error('three parts');
    await replace([{ ...first, bytes: second.bytes }, { ...second, bytes: first.bytes }, third]);
    await expect(reading()).rejects.toThrow();
    await replace([first, { ...second, bytes: Buffer.concat([Buffer.of(1, 1), Buffer.from(second.bytes).subarray(2)]) }, third]);
    await expect(reading()).rejects.toThrow();
    await replace([first, second]);
    await expect(reading()).rejects.toMatchObject(unknown);
    await replace([first, second, third]);
    expect(await reading()).toHaveLength(1);

    async function storedPart(part: number): Promise<{ id: string; item: number; part: number; bytes: Uint8Array }> {
      const { id } = await sessions.whileOpen('demo', threadId, options, async (session) => Promise.resolve({ id: session.id }));
      const bytes = await store.run('findSessionPart', { id, item: 1, part });
      if (bytes === undefined) throw new Error(`no part ${part}`);
      return { id, item: 1, part, bytes };
    }
    /** The session keeps its row: its parts are taken away as a sweep takes those of a session that is gone, and put in again. */
    async function replace(parts: readonly { id: string; item: number; part: number; bytes: Uint8Array }[]): Promise<void> {
      const [{ id }] = [first ?? { id: '' }];
      const state = await store.run('findSessionPart', { id, item: 0, part: 0 });
      const row = await store.run('findSession', { id, now: Date.now() });
      if (row === undefined || state === undefined) throw new Error('the session is there');
      await store.run('dropSession', id);
      while ((await store.run('deleteLooseSessionParts', { limit: 100 })) > 0);
      const all = [{ id, item: 0, part: 0, bytes: state }, ...parts];
      await store.run('addSession', { session: row, parts: all, limits: options, now: Date.now() });
    }
  });

  it('is closed by one of those who complete it at the same time, over stores of their own too', async () => {
    const other = store.isShared ? await openStateStore(config, recordingLog()) : store;
    const others = new Sessions(other, oneKey(mac));
    for (let round = 0; round < 10; round += 1) {
      const threadId = await open();
      const ends = await Promise.allSettled([sessions, others, sessions, others].map(async (by) => close(threadId, by)));
      expect(ends.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      for (const end of ends) if (end.status === 'rejected') expect(end.reason).toMatchObject(unknown);
    }
    others.stop();
    if (other !== store) await other.close();
  });

  it('is completed by one request at a time, in the order in which they came; another session waits for none of them', async () => {
    const threadId = await open();
    const events: string[] = [];
    const gate = Promise.withResolvers<undefined>();
    const begun = Promise.withResolvers<undefined>();
    const first = sessions.whileOpen('demo', threadId, options, async () => {
      events.push('first begins');
      begun.resolve(undefined);
      await gate.promise;
      events.push('first ends');
    });
    await begun.promise;
    const second = sessions.whileOpen('demo', threadId, options, async () => Promise.resolve(events.push('second')));
    // By then the second one would have begun as well.
    expect(await ids(await open())).toEqual([]);
    expect(await ids(await open())).toEqual([]);
    expect(events).toEqual(['first begins']);
    gate.resolve(undefined);
    await Promise.all([first, second]);
    expect(events).toEqual(['first begins', 'first ends', 'second']);
  });

  it('stays open where completing it fails, for the next one who waits', async () => {
    const threadId = await open();
    const first = sessions.whileOpen('demo', threadId, options, async () => Promise.reject(new Error('first')));
    const second = close(threadId);
    await expect(first).rejects.toThrow('first');
    await second;
    await expect(ids(threadId)).rejects.toMatchObject(unknown);
  });
});

function bytesOf(content: Content): Buffer {
  if (content instanceof Uint8Array) return Buffer.from(content);
  const bytes = Buffer.alloc(content.bytes);
  readSync(content.descriptor, bytes, 0, bytes.length, 0);
  return bytes;
}
