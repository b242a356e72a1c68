import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import type { KeyType } from '../../src/config/key-types.ts';
import type { PoolOptions } from '../../src/keys/key-pool.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import { mostWanted } from '../../src/keys/pool-levels.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openSqliteStore, openStateStore } from '../../src/state/threaded-store.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import type { KeyId } from '../../src/token/key-id.ts';
import { TokenFull, TokenUnavailable, type Token } from '../../src/token/token.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { ScratchPostgresql } from '../support/postgresql.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';
import { tokenWith } from '../support/token-with.ts';

let scratch: ScratchToken;
let token: TokenClient;
/** Of most tests, each of which finds its pool empty. */
let store: StateStore;
let storePath: string;
let count = 0;

beforeAll(async () => {
  scratch = scratchToken();
  token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
  await token.start();
  storePath = newPath();
  store = await openSqliteStore(storePath);
});

afterEach(async () => {
  while ((await store.run('takeFromPool', { keyType: 'P-256', now: Date.now() })) !== undefined);
  await new Keyring(store, token).recover();
});

afterAll(async () => {
  await store.close();
  await token.stop();
  scratch.remove();
});

const newPath = (): string => {
  count += 1;
  return join(scratch.directory, `state-${count}.sqlite`);
};
const onToken = async (): Promise<KeyId[]> => (await token.listKeys()).map(({ id }) => id);
const request = { tenant: tenantId('demo'), type: 'P-256', protocol: 'OTP', subscriber: {} } as const;

/** Makes a key whose certificate nobody looks at; answers its CKA_ID. */
async function create(keys: Keyring, type: KeyType = request.type): Promise<KeyId> {
  const { reference } = await keys.create({ ...request, type, issue: async () => Promise.resolve({ row: certificateRow() }) });
  return (await keys.find(request.tenant, reference)).id;
}

interface Pooled {
  readonly keys: Keyring;
  readonly levels: Map<KeyType, number>;
  readonly wanted: boolean[];
  readonly log: ReturnType<typeof recordingLog>;
}

function pooled(of: StateStore, target: number, changes: Partial<PoolOptions> = {}, tokenChanges: Partial<Token> = {}): Pooled {
  const levels = new Map<KeyType, number>();
  const wanted: boolean[] = [];
  const log = recordingLog();
  const pool: PoolOptions = {
    targets: () => new Map([['P-256', target]]),
    isTokenBusy: () => false,
    levelIs: (type, keys) => levels.set(type, keys),
    wanted: (_type, wasReady) => wanted.push(wasReady),
    log,
    startPauseMs: 0,
    ...changes,
  };
  return { keys: new Keyring(of, tokenWith(token, tokenChanges), { pool, log }), levels, wanted, log };
}

const full = async ({ keys, levels }: Pooled, target: number): Promise<void> => {
  keys.startPool();
  await expect.poll(() => levels.get('P-256'), { timeout: 20_000 }).toBe(target);
};

describe('the pool of keys', () => {
  it('is filled, gives each key once, and says where there is none', async () => {
    const one = pooled(store, 3);
    await full(one, 3);
    await one.keys.stopPool();
    const ready = await onToken();
    const made = await Promise.all(Array.from({ length: 5 }, async () => create(one.keys)));
    expect(new Set(made).size).toBe(5);
    expect(made.filter((id) => ready.includes(id))).toHaveLength(3);
    expect(one.wanted.filter(Boolean)).toHaveLength(3);
    expect(one.levels.get('P-256')).toBe(0);
    expect(one.log.lines.filter((line) => line.includes('no key was ready'))).toHaveLength(1);
    expect(one.log.lines.filter((line) => line.includes('not as the service wrote it'))).toEqual([]);
    expect(await store.run('journal')).toEqual([]);
  });

  it('does not warn of callers who come before the first keys after a start, but of later ones', async () => {
    const warned: string[] = [];
    const told: string[] = [];
    const log = { ...recordingLog(), warn: (line: string) => warned.push(line), info: (line: string) => told.push(line) };
    const early = pooled(store, 2, { log });
    await create(early.keys);
    expect([told, warned]).toEqual([[expect.stringContaining('the first keys are still being made')], []]);
    await full(early, 2);
    await early.keys.stopPool();
    await Promise.all(Array.from({ length: 3 }, async () => create(early.keys)));
    expect([told.length, warned]).toEqual([1, [expect.stringContaining('no key was ready')]]);
    const slow = pooled(store, 2, { firstKeysMaxMs: 0 });
    await create(slow.keys);
    expect(slow.log.lines.filter((line) => line.includes('key'))).toEqual([expect.stringContaining('no key was ready')]);
  });

  it('leaves room for keys of the service on a token that is full, twice, and is filled again once there is room', async () => {
    let room = 5;
    const fullPauseMs = 500;
    const one = pooled(
      store,
      8,
      { fullPauseMs },
      {
        async createKey(id, type) {
          if ((await onToken()).length >= before + room) throw new TokenFull('no room');
          return token.createKey(id, type);
        },
      },
    );
    const before = (await onToken()).length;
    one.keys.startPool();
    const left = (): number =>
      one.log.lines.filter((line) => line.includes('the token is full: keys made in advance were destroyed')).length;
    await expect.poll(left, { timeout: 20_000 }).toBe(1);
    expect((await onToken()).length).toBe(before + room - 3);
    await expect.poll(left, { timeout: 20_000 }).toBe(2);
    expect(await store.run('journal')).toEqual([]);
    room = 100;
    await expect.poll(() => one.levels.get('P-256'), { timeout: 20_000 }).toBe(8);
    await one.keys.stopPool();
  });

  it('waits while a key is made for a caller who found none', async () => {
    const released = Promise.withResolvers<undefined>();
    let created = 0;
    const one = pooled(
      store,
      1,
      {},
      {
        async createKey(id, type) {
          created += 1;
          if (created === 1) await released.promise;
          return token.createKey(id, type);
        },
      },
    );
    const made = create(one.keys);
    await expect.poll(() => created).toBe(1);
    one.keys.startPool();
    await delay(500);
    expect(created).toBe(1);
    released.resolve(undefined);
    await made;
    await expect.poll(() => one.levels.get('P-256'), { timeout: 20_000 }).toBe(1);
    await one.keys.stopPool();
  });

  it('stops once the MAC that it is making is made: the audit log closes then', async () => {
    const released = Promise.withResolvers<undefined>();
    let isMaking = false;
    let isStopped = false;
    const one = pooled(
      store,
      1,
      {},
      {
        async makeMac(...asked) {
          isMaking = true;
          await released.promise;
          return token.makeMac(...asked);
        },
      },
    );
    one.keys.startPool();
    await expect.poll(() => isMaking, { timeout: 20_000 }).toBe(true);
    const stopping = one.keys.stopPool().then(() => {
      isStopped = true;
    });
    await turn();
    expect(isStopped).toBe(false);
    released.resolve(undefined);
    await stopping;
    await expect.poll(async () => (await store.run('poolLevels')).length, { timeout: 20_000 }).toBe(1);
  });

  it('makes no MAC for a key that is created after the stop; the next start destroys the key', async () => {
    const released = Promise.withResolvers<undefined>();
    const created: KeyId[] = [];
    let macs = 0;
    const one = pooled(
      store,
      1,
      {},
      {
        async createKey(id, type) {
          const key = await token.createKey(id, type);
          created.push(id);
          await released.promise;
          return key;
        },
        async makeMac(...asked) {
          macs += 1;
          return token.makeMac(...asked);
        },
      },
    );
    one.keys.startPool();
    await expect.poll(() => created.length, { timeout: 20_000 }).toBe(1);
    await one.keys.stopPool();
    released.resolve(undefined);
    await turn();
    expect(macs).toBe(0);
    expect(await new Keyring(store, token).recover()).toEqual({ finished: 1, kept: [] });
    expect(await onToken()).not.toContain(created[0]);
  });

  it('is filled again once the callers who found it empty have their keys', async () => {
    const one = pooled(store, 1);
    await full(one, 1);
    // Twice, since a key that was being made for the pool when they came is finished.
    for (let round = 0; round < 2; round += 1) {
      await Promise.all(Array.from({ length: 4 }, async () => create(one.keys)));
      await expect.poll(() => one.levels.get('P-256'), { timeout: 20_000 }).toBe(1);
    }
    expect(one.wanted).toContain(false);
    await one.keys.stopPool();
  });

  it('is there after a restart, whose recovery leaves it alone', async () => {
    const path = newPath();
    let own = await openSqliteStore(path);
    const before = pooled(own, 2);
    await full(before, 2);
    await before.keys.stopPool();
    await own.close();
    own = await openSqliteStore(path);
    const after = pooled(own, 2);
    expect((await after.keys.recover()).finished).toBe(0);
    await create(after.keys);
    expect(after.wanted).toEqual([true]);
    await own.close();
  });

  it('loses the key that was taken when a crash came before its record: it is destroyed, not handed out again', async () => {
    const one = pooled(store, 1);
    await full(one, 1);
    await one.keys.stopPool();
    const row = await store.run('takeFromPool', { keyType: 'P-256', now: Date.now() });
    expect(await onToken()).toContain(row?.key_id);
    const next = pooled(store, 1);
    expect((await next.keys.recover()).finished).toBe(1);
    expect(await onToken()).not.toContain(row?.key_id);
    expect(await store.run('poolLevels')).toEqual([]);
  });

  it.each([
    ['was carried out and its answer lost: it is destroyed, and the next caller gets another', true, false],
    ['may have been carried out: it is destroyed', false, false],
    ['never left, since the token is away: it waits for the next caller', false, true],
  ])('leaves no key behind whose claim %s', async (_name, isCarriedOut, nothingDone) => {
    let isLost = true;
    const one = pooled(
      store,
      1,
      {},
      {
        claimKey: async (...args) => {
          if (!isLost) return token.claimKey(...args);
          isLost = false;
          if (isCarriedOut) await token.claimKey(...args);
          throw new TokenUnavailable('the answer is lost', { nothingDone });
        },
      },
    );
    await full(one, 1);
    await one.keys.stopPool();
    const before = await onToken();
    await expect(create(one.keys)).rejects.toThrow('the answer is lost');
    const waiting = (await store.run('poolLevels')).length;
    expect([before.length - (await onToken()).length, waiting]).toEqual(nothingDone ? [0, 1] : [1, 0]);
    expect(await store.run('journal')).toEqual([]);
    const next = await create(one.keys);
    expect(before.includes(next)).toBe(nothingDone);
    // Nobody is accused of having restored a copy of the store.
    expect(one.log.lines.filter((line) => line.includes('an old copy'))).toEqual([]);
  });

  it('is given up where the token lets no key be marked: its key is destroyed, and the caller gets a new one', async () => {
    const one = pooled(store, 1, {}, { claimKey: async () => Promise.resolve('unmarkable') });
    await full(one, 1);
    await one.keys.stopPool();
    const before = await onToken();
    const made = await create(one.keys);
    expect(before).not.toContain(made);
    const after = await onToken();
    expect(before.filter((id) => !after.includes(id))).toHaveLength(1);
    expect(await store.run('journal')).toEqual([]);
    expect(one.log.lines.filter((line) => line.includes('cannot mark keys as handed out'))).toHaveLength(1);
  });

  it('hands no key out again when yesterday’s copy of the store is restored', async () => {
    const path = newPath();
    let own = await openSqliteStore(path);
    const one = pooled(own, 1);
    await full(one, 1);
    await one.keys.stopPool();
    await own.close();
    copyFileSync(path, `${path}.yesterday`);
    own = await openSqliteStore(path);
    const owned = await create(pooled(own, 1).keys);
    await own.close();
    own = await openSqliteStore(`${path}.yesterday`);
    const restored = pooled(own, 1);
    const made = await create(restored.keys);
    expect(made).not.toBe(owned);
    expect(await onToken()).toContain(owned);
    expect(restored.log.lines.join('\n')).toContain('already handed out');
    await own.close();
  });

  const changes = {
    'has the public key of somebody else': "update key_pool set public_key = x'3000'",
    'has the identifier of a key in use': "update key_pool set key_id = '$victim'",
    'has lost its seal': 'update key_pool set seal_salt = null, seal_mac = null',
    'has another type of key': "update key_pool set key_type = 'P-384'",
  } as const;

  it.each(Object.entries(changes))('hands out no key whose row %s, and leaves the token alone', async (_name, sql) => {
    const victim = await create(new Keyring(store, token));
    const one = pooled(store, 1);
    await full(one, 1);
    await one.keys.stopPool();
    const database = new DatabaseSync(storePath, { timeout: 10_000 });
    database.exec(sql.replace('$victim', victim));
    database.close();
    const before = await onToken();
    const type = sql.includes('P-384') ? 'P-384' : 'P-256';
    const asking = pooled(store, 1, { targets: () => new Map([[type, 1]]) });
    const made = await create(asking.keys, type);
    expect(before).not.toContain(made);
    expect(await onToken()).toEqual(expect.arrayContaining([...before, made]));
    expect(await store.run('journal')).toEqual([]);
    expect(asking.log.lines.filter((line) => line.startsWith('the state store was changed'))).toHaveLength(1);
  });

  it('gives each key to one of two instances on one PostgreSQL', async () => {
    const server = await ScratchPostgresql.start();
    try {
      const config = await server.newDatabase();
      const stores = [await openStateStore(config, recordingLog()), await openStateStore(config, recordingLog())];
      const instances = stores.map((own) => pooled(own, 6));
      for (const instance of instances) instance.keys.startPool();
      await expect.poll(() => instances.map(({ levels }) => (levels.get('P-256') ?? 0) >= 6), { timeout: 20_000 }).toEqual([true, true]);
      for (const { keys } of instances) await keys.stopPool();
      const made = await Promise.all(Array.from({ length: 10 }, async (_, index) => create((instances[index % 2] as Pooled).keys)));
      expect(new Set(made).size).toBe(10);
      expect(instances.flatMap(({ wanted }) => wanted).filter(Boolean).length).toBeGreaterThanOrEqual(6);
      for (const own of stores) await own.close();
    } finally {
      await server.remove();
    }
  });

  it('makes first what is scarcest, and while the token is in use only what is asked for and scarce', () => {
    const targets = new Map<KeyType, number>([
      ['P-256', 8],
      ['RSA-2048', 8],
      ['P-384', 0],
    ]);
    const levels = (ec: number, rsa: number): Map<KeyType, number> =>
      new Map([
        ['P-256', ec],
        ['RSA-2048', rsa],
      ]);
    const both = new Set<KeyType>(['P-256', 'RSA-2048']);
    expect(mostWanted(levels(5, 0), targets, undefined)).toBe('RSA-2048');
    expect(mostWanted(levels(8, 9), targets, undefined)).toBeUndefined();
    expect(mostWanted(levels(5, 4), targets, both)).toBeUndefined();
    expect(mostWanted(levels(3, 0), targets, both)).toBe('RSA-2048');
    expect(mostWanted(levels(3, 0), targets, new Set(['P-256']))).toBe('P-256');
  });
});
