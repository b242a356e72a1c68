import { createHash, createHmac, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto';
import { mkdtempSync, readdirSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import type { Content } from '../../../src/documents/content.ts';
import { partBytes } from '../../../src/sealed-parts/cut.ts';
import { sessionText, storedState, documentsToRead, type SessionState } from '../../../src/signatures/sessions/session-state.ts';
import { Sessions, type SessionOptions } from '../../../src/signatures/sessions/sessions.ts';
import { verifiedValues, verifyValues } from '../../../src/signatures/sessions/verify-values.ts';
import { keepingOutcome } from '../../../src/state/settlement.ts';
import { step, type Step, type StepResults } from '../../../src/state/step.ts';
import type { ThreadFunction, WorkThreads } from '../../../src/threads/work-threads.ts';
import { StoreAround } from '../../support/store-around.ts';
import { StoreHere } from '../../support/store-here.ts';
import { turnsUntil } from '../../support/turns-until.ts';
import { oneKey } from '../../support/sealing-keys.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-stored-sessions-'));
const key = randomBytes(32);
const mac = async (message: Uint8Array): Promise<Uint8Array> => Promise.resolve(createHmac('sha256', key).update(message).digest());
const state = (contents: readonly Content[], id = 'd'): SessionState => ({
  documents: [{ id, fileName: undefined }],
  signatures: {
    ...{ format: 'raw', isText: false, algorithm: undefined, level: undefined, chain: undefined },
    prepared: [{ id, covers: [{ index: 0 }], hash: 'sha256', state: null, digest: Buffer.alloc(32), dataToSign: undefined, contents }],
  },
});
const alice = { tenant: 'demo', client: 'alice' };
const options: SessionOptions = {
  ...{ ttlSeconds: 600, openMaxPerClient: 100, openMaxPerTenant: 100, spoolMaxBytes: 1e9, spoolMaxBytesPerTenant: 1e9 },
  scratchDirectory: directory,
};

/** Remembers the names of the operations of each commit. */
class Told extends StoreAround {
  readonly commits: string[][] = [];
  readonly sessions: unknown[] = [];

  async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    this.commits.push(steps.map(({ name }) => name));
    for (const { name, argument } of steps) if (name === 'addSession') this.sessions.push(argument);
    return this.store.commit(steps);
  }
}

let store: Told;
let sessions: Sessions;
beforeEach(async () => {
  store = new Told(await StoreHere.open(join(directory, `${randomBytes(8).toString('hex')}.sqlite`)));
  sessions = new Sessions(store, oneKey(mac));
});
afterEach(async () => {
  vi.useRealTimers();
  sessions.stop();
  await store.close();
});
afterAll(() => {
  rmSync(directory, { recursive: true });
});

const open = async (one: SessionState, check = async () => Promise.resolve()): Promise<string> =>
  sessions.open(alice, { state: one, check }, options);
const unknown = { code: 'SESSION_UNKNOWN' };
const rowOf = (): { spooled_bytes: number; stored: number; ends_at: number } =>
  z.object({ session: z.object({ spooled_bytes: z.number(), stored: z.number(), ends_at: z.number() }) }).parse(store.sessions.at(-1))
    .session;

describe('a session', () => {
  it('is stored by one commit if it fits into a part, and is usable at once', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000_000_000 });
    const textBytes = Buffer.byteLength(sessionText(state([Buffer.alloc(1_000_000)])));
    const fits = partBytes - textBytes;
    await open(state([Buffer.alloc(fits)]));
    expect(store.commits.flat()).toEqual(['addSession']);
    expect(rowOf()).toEqual(expect.objectContaining({ spooled_bytes: fits, stored: 1, ends_at: 1_000_000_600_000 }));
    store.commits.length = 0;
    await open(state([Buffer.alloc(fits + 1)]));
    expect(store.commits.flat()).toEqual(['addSession', 'addSessionPart', 'addSessionPart', 'sessionStored']);
    // A quarter of an hour to store it.
    expect(rowOf()).toEqual(expect.objectContaining({ spooled_bytes: fits + 1, stored: 0, ends_at: 1_000_000_900_000 }));
  });

  it('that is large lives from when all of it is stored', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000_000_000 });
    const check = async (): Promise<void> => {
      vi.setSystemTime(1_000_000_500_000);
      return Promise.resolve();
    };
    const threadId = await open(state([Buffer.alloc(partBytes)]), check);
    const isOpenAt = async (at: number): Promise<boolean> => {
      vi.setSystemTime(at);
      return sessions
        .whileOpen('demo', threadId, options, async () => Promise.resolve())
        .then(
          () => true,
          () => false,
        );
    };
    expect([await isOpenAt(1_000_001_099_999), await isOpenAt(1_000_001_100_000)]).toEqual([true, false]);
  });

  it.each([10, partBytes])('is not opened for content that has changed (%i bytes)', async (bytes) => {
    const check = async (): Promise<void> => Promise.reject(new Error('changed'));
    await expect(open(state([Buffer.alloc(bytes)]), check)).rejects.toThrow('changed');
    expect(await store.run('sessionShares', 0)).toEqual([]);
  });

  it('that ends while it is stored is an error', async () => {
    const check = async (): Promise<void> => {
      await store.run('deleteEndedSessions', { now: Number.MAX_SAFE_INTEGER, limit: 10 });
    };
    await expect(open(state([Buffer.alloc(partBytes)]), check)).rejects.toThrow('ended while it was being stored');
  });

  it('takes space for its content, and for its state if that is larger than a part', async () => {
    await open(state([Buffer.alloc(10), Buffer.alloc(5)]));
    expect(rowOf().spooled_bytes).toBe(15);
    const large = state([Buffer.alloc(10)], 'i'.repeat(partBytes));
    await open(large);
    expect(rowOf().spooled_bytes).toBe(10 + Buffer.byteLength(sessionText(large)));
  });

  it('with another form of identifier is unknown, and nobody is asked', async () => {
    const valid = await open(state([]));
    store.commits.length = 0;
    for (const id of ['', valid.slice(1), `${valid}x`, `${valid.slice(1)}=`, `${valid.slice(1)}/`, 'é'.repeat(43)])
      await expect(sessions.whileOpen('demo', id, options, async () => Promise.resolve())).rejects.toMatchObject(unknown);
    expect(store.commits).toEqual([]);
    await expect(
      sessions.whileOpen('demo', randomBytes(32).toString('base64url'), options, async () => Promise.resolve()),
    ).rejects.toMatchObject(unknown);
  });

  it('is closed by the commit that keeps the outcome of its request, first of all', async () => {
    const threadId = await open(state([]));
    const answer = { done: 1 };
    const keeper = {
      needsCommit: false,
      steps: async (outcome: unknown) => {
        expect(outcome).toEqual({ answer });
        return Promise.resolve([step('finishStep', 'kept')]);
      },
    };
    store.commits.length = 0;
    await keepingOutcome(keeper, async () =>
      sessions.whileOpen('demo', threadId, options, async (session) => sessions.close(session, answer)),
    );
    expect(store.commits.at(-1)).toEqual(['closeSession', 'finishStep']);
  });

  it('is swept every minute, with what is left of others', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'] });
    const swept = new Sessions(store, oneKey(mac));
    store.commits.length = 0;
    vi.advanceTimersByTime(59_999);
    expect(store.commits).toEqual([]);
    vi.advanceTimersByTime(1);
    await turnsUntil(() => store.commits.length === 2);
    expect(store.commits.flat()).toEqual(['deleteEndedSessions', 'deleteLooseSessionParts']);
    swept.stop();
  });
});

describe('the contents of a session', () => {
  const kinds = async (contents: readonly Content[]): Promise<string[]> => {
    const threadId = await open(state(contents));
    return sessions.whileOpen('demo', threadId, options, async (session) => {
      const { prepared } = await session.signatures();
      const kept = prepared.flatMap((one) => one.contents);
      expect(kept.map((content) => bytesOf(content).equals(bytesOf(contents[kept.indexOf(content)] ?? content)))).toEqual(
        contents.map(() => true),
      );
      return kept.map((content) => (content instanceof Uint8Array ? 'memory' : 'file'));
    });
  };

  it('are in memory up to 1 MiB together, and in files beyond', async () => {
    const half = 1 << 19;
    expect(await kinds([randomBytes(half), randomBytes(half)])).toEqual(['memory', 'memory']);
    expect(await kinds([randomBytes(half), randomBytes(half + 1), randomBytes(1)])).toEqual(['memory', 'file', 'file']);
    expect(readdirSync(directory).filter((name) => name.startsWith('signetd-'))).toEqual([]);
  });

  it('that cannot be put into a file leave the session open', async () => {
    const threadId = await open(state([randomBytes(2 << 20)]));
    const nowhere = { ...options, scratchDirectory: join(directory, 'missing') };
    const reading = async (of: SessionOptions): Promise<unknown> =>
      sessions.whileOpen('demo', threadId, of, async (session) => (await session.signatures()).prepared.length);
    await expect(reading(nowhere)).rejects.toMatchObject({ code: 'STORE_FULL' });
    expect(await reading(options)).toBe(1);
  });
});

describe('the state of a session', () => {
  const signature = (readAgain: readonly { content: number; document: number }[], sizes: readonly number[]) => ({
    ...{ id: 'd', covers: [0], hash: 'sha256', digest: '', contentBytes: sizes, state: null },
    readAgain: readAgain.map((one) => ({ ...one, digest: { hash: 'sha256', value: 'AA==' } })),
  });
  const text = (signatures: readonly unknown[], more: object = {}): string =>
    JSON.stringify({
      documents: [
        { id: 'a', origin: { filePath: '/a' } },
        { id: 'b', origin: { fileID: 'b' } },
      ],
      ...{ format: 'pades', signatures, ...more },
    });

  it('names documents to be read again in the order of the contents', () => {
    const both = signature(
      [
        { content: 2, document: 0 },
        { content: 0, document: 1 },
      ],
      [5, 6, 7],
    );
    const digest = { hash: 'sha256', value: Buffer.of(0) };
    expect(documentsToRead(storedState(text([both, signature([{ content: 0, document: 0 }], [9])])))).toEqual([
      { id: 'b', origin: { fileID: 'b' }, bytes: 5, digest },
      { id: 'a', origin: { filePath: '/a' }, bytes: 7, digest },
      { id: 'a', origin: { filePath: '/a' }, bytes: 9, digest },
    ]);
  });

  it('with a document to be read again that it does not have is an error', () => {
    for (const [one, sizes] of [
      [{ content: 0, document: 2 }, [5]],
      [{ content: 1, document: 0 }, [5]],
    ] as const)
      expect(() => documentsToRead(storedState(text([signature([one], sizes)])))).toThrow('to be read again is unknown');
  });

  it('is read strictly, and that of earlier versions too', () => {
    expect(storedState(text([])).signatures.isText).toBe(false);
    expect(storedState(text([], { isText: true })).signatures.isText).toBe(true);
    const wrong = [
      text([], { more: 1 }),
      text([], { format: 'other' }),
      text([], { algorithm: { scheme: 'ECDSA', hash: 'md5' } }),
      text([], { algorithm: { scheme: 'RSA_PSS', hash: 'sha256' } }),
      text([], { documents: [{ id: 'a', origin: { filePath: '/a', fileID: 'b' } }] }),
      text([{ ...signature([], []), more: 1 }]),
      text([{ ...signature([], []), digest: '*' }]),
      '{}',
    ];
    for (const one of wrong) expect(() => storedState(one)).toThrow();
  });
});

describe('values made elsewhere', () => {
  const message = randomBytes(50);
  const digest = createHash('sha256').update(message).digest();
  const task = (publicKey: KeyObject, algorithm: Parameters<typeof verifyValues>[0]['algorithm'], ...values: Uint8Array[]) => ({
    ...{ publicKey, algorithm },
    values: values.map((value) => ({ digest, value })),
  });
  const ecdsa = { scheme: 'ECDSA', hash: 'sha256' } as const;
  const pkcs1 = { scheme: 'RSA_PKCS1', hash: 'sha256' } as const;
  const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

  it('are r‖s in the end, whichever of the two forms they came in, if they verify', () => {
    const signed = (dsaEncoding: 'der' | 'ieee-p1363'): Buffer => sign('sha256', message, { key: ec.privateKey, dsaEncoding });
    const [der, plain] = [signed('der'), signed('ieee-p1363')];
    const wrong = Buffer.from(plain);
    wrong.writeUInt8((wrong[3] ?? 0) ^ 1, 3);
    const [fromDer, fromPlain, ...others] = verifyValues(task(ec.publicKey, ecdsa, der, plain, wrong, plain.subarray(1), Buffer.alloc(0)));
    expect(fromPlain && Buffer.from(fromPlain)).toEqual(plain);
    expect(fromDer).toHaveLength(64);
    expect(verifyValues(task(ec.publicKey, ecdsa, fromDer ?? der))).toEqual([fromDer]);
    expect(others).toEqual([undefined, undefined, undefined]);
  });

  it('of RSA are what they are', () => {
    const value = sign('sha256', message, rsa.privateKey);
    const wrong = Buffer.from(value);
    wrong.writeUInt8(wrong.readUInt8(5) ^ 1, 5);
    expect(verifyValues(task(rsa.publicKey, pkcs1, value, wrong))).toEqual([value, undefined]);
  });

  it('are verified in a thread where there are many', async () => {
    const runs: string[] = [];
    const threads: Pick<WorkThreads, 'run'> = {
      run: async <T>({ name, module, lane }: ThreadFunction): Promise<T> => {
        runs.push(`${name} ${lane} ${/verify-values\.[jt]s$/.test(String(module))}`);
        return Promise.resolve([] as T);
      },
    };
    const value = new Uint8Array(64);
    const run = async (count: number): Promise<unknown> =>
      verifiedValues(task(ec.publicKey, ecdsa, ...Array.from({ length: count }, () => value)), threads as WorkThreads);
    expect(await run(1)).toEqual([undefined]);
    expect(runs).toEqual([]);
    expect(await run(100)).toEqual([]);
    expect(runs).toEqual(['verifyValues hashing true']);
  });
});

function bytesOf(content: Content): Buffer {
  if (content instanceof Uint8Array) return Buffer.from(content);
  const bytes = Buffer.alloc(content.bytes);
  readSync(content.descriptor, bytes, 0, bytes.length, 0);
  return bytes;
}
