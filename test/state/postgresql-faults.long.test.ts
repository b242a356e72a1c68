import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { StateConfig } from '../../src/config/state-config.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { StoreUnavailable } from '../../src/state/store-unavailable.ts';
import { ScratchPostgresql } from '../support/postgresql.ts';
import { recordingLog } from '../support/silent-log.ts';
import { storedKey } from './rows.ts';

let server: ScratchPostgresql;
let directory: string;

beforeAll(async () => {
  server = await ScratchPostgresql.start();
  directory = mkdtempSync(join(tmpdir(), 'signetd-state-'));
});

afterAll(async () => {
  await server.remove();
  rmSync(directory, { recursive: true, force: true });
});

const entry = (id: string): { key_id: string; intent: 'CREATE'; created_at: number } => ({ key_id: id, intent: 'CREATE', created_at: 1 });
const databaseOf = (config: StateConfig): string => (config.kind === 'postgresql' ? config.database : '');

/** Stands between the store and the server, and cuts connections when told. */
class Cutter {
  readonly path: string;
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  /** Called with what the store sends; true cuts: what was sent goes to the server, its answer does not come back. */
  cutAfter: (data: Buffer) => boolean = () => false;

  /** What was sent when it cuts does not go to the server either. */
  isDeaf = false;

  /** Socket of the server; undefined where it cannot be reached. */
  target: string | undefined;

  constructor(name: string, target: string) {
    const host = join(directory, name);
    this.path = host;
    this.target = target;
    this.#server = createServer((near) => {
      if (this.target === undefined) {
        near.destroy();
        return;
      }
      const far = connect(this.target);
      let isCut = false;
      this.#sockets.add(near).add(far);
      near.on('data', (data: Buffer) => {
        if (this.cutAfter(data)) {
          isCut = true;
          this.cutAfter = () => false;
          if (this.isDeaf) {
            near.destroy();
            return;
          }
        }
        far.write(data);
      });
      far.on('data', (data: Buffer) => {
        if (isCut) near.destroy();
        else near.write(data);
      });
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        one.on('error', () => undefined);
        one.on('close', () => {
          other.destroy();
        });
      }
    });
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.listen(`${this.path}/.s.PGSQL.5432`, resolve);
    });
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => {
      this.#server.close(resolve);
    });
  }
}

async function storeThrough(name: string, config: StateConfig, through = server): Promise<{ cutter: Cutter; store: StateStore }> {
  mkdirSync(join(directory, name));
  const cutter = new Cutter(name, through.socketPath);
  await cutter.listen();
  const store = await openStateStore(StateConfig.parse({ ...config, host: cutter.path }), recordingLog());
  return { cutter, store };
}

/** The next attempt to connect comes within a second. */
async function journalIs(store: StateStore, entries: readonly object[]): Promise<void> {
  await expect.poll(async () => store.run('journal').catch(() => undefined)).toEqual(entries);
}

describe('a store on PostgreSQL', () => {
  it('is unavailable immediately while the server is away, and recovers by itself', async () => {
    const store = await openStateStore(await server.newDatabase(), recordingLog());
    const reference = await storedKey(store);
    await store.refresh();
    await server.stop('immediate');
    const uses = [store.run('probe'), store.run('findKey', reference), store.refresh()];
    await Promise.all(uses.map(async (use) => expect(use).rejects.toThrow(StoreUnavailable)));
    await server.restart();
    await expect.poll(async () => store.run('findKey', reference).catch(() => undefined), { timeout: 20_000 }).toMatchObject({ reference });
    await expect
      .poll(
        async () =>
          store
            .run('probe')
            .then(() => 'writes')
            .catch(() => 'does not'),
        { timeout: 20_000 },
      )
      .toBe('writes');
    await expect
      .poll(
        async () =>
          store
            .refresh()
            .then(() => 'fresh')
            .catch(() => 'not'),
        { timeout: 20_000 },
      )
      .toBe('fresh');
    await store.close();
  });

  it('reads as soon as it writes again, however long the server was away', async () => {
    const store = await openStateStore(await server.newDatabase(), recordingLog());
    const reference = await storedKey(store);
    await server.stop('immediate');
    // Attempts to read come at ever longer intervals.
    for (const begun = performance.now(); performance.now() - begun < 2000; await delay(10))
      await expect(store.run('findKey', reference)).rejects.toThrow(StoreUnavailable);
    await server.restart();
    await vi.waitFor(async () => store.run('probe'), { timeout: 20_000, interval: 5 });
    expect(await store.run('findKey', reference)).toMatchObject({ reference });
    await store.refresh();
    await store.close();
  });

  it.each([
    ['does not repeat a commit during which the connection broke, if it was carried out', 'commit', 'commit'],
    ['repeats what was not committed when the connection broke', 'work', 'key_journal'],
  ])('%s', async (_name, directoryName, statement) => {
    const { cutter, store } = await storeThrough(directoryName, await server.newDatabase());
    cutter.cutAfter = (data) => data.includes(statement);
    await store.run('announce', entry('one'));
    expect(await store.run('journal')).toEqual([entry('one')]);
    await store.close();
    await cutter.close();
  });

  it('does not take the transaction of another server for its own after a failover', async () => {
    const [primary, config] = [await ScratchPostgresql.start(), { database: '' }];
    const state = await primary.newDatabase();
    config.database = databaseOf(state);
    const standby = await primary.startStandby();
    const { cutter, store } = await storeThrough('failover', state, primary);
    await standby.hasAllOf(primary);
    // What comes now is on the primary only.
    await standby.stop();
    cutter.target = undefined;
    cutter.cutAfter = (data) => data.includes('commit');
    const lost = store.run('announce', entry('lost'));
    lost.catch(() => undefined);
    await vi.waitFor(async () => expect(await primary.query(config.database, 'select key_id from key_journal')).toHaveLength(1));
    await primary.stop('immediate');
    await standby.restart();
    await standby.promote();
    for (let count = 0; count < 50; count += 1) await standby.query('postgres', 'select pg_current_xact_id()');
    cutter.target = standby.socketPath;
    await expect(lost).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN' });
    await journalIs(store, []);
    await store.close();
    await cutter.close();
    await standby.remove();
    await primary.remove();
  });

  it.each([
    ['does not take the transaction of another client for its own after a crash of the server', 50],
    ['repeats what a crash of the server undid', 0],
  ])('%s', async (_name, others) => {
    const primary = await ScratchPostgresql.start();
    const state = await primary.newDatabase();
    await primary.query('postgres', "alter system set wal_writer_delay = '10s'");
    await primary.query('postgres', 'select pg_reload_conf()');
    const { cutter, store } = await storeThrough(`crash-${others}`, state, primary);
    cutter.isDeaf = true;
    cutter.cutAfter = (data) => {
      if (!data.includes('commit')) return false;
      // It must not notice the broken connection, and write that the transaction is aborted.
      primary.pause();
      cutter.target = undefined;
      return true;
    };
    const lost = store.run('announce', entry('lost'));
    lost.catch(() => undefined);
    await expect.poll(() => cutter.target).toBeUndefined();
    const begun = performance.now();
    await primary.stop('killed');
    await primary.restart();
    for (let count = 0; count < others; count += 1) await primary.query('postgres', 'select pg_current_xact_id()');
    cutter.target = primary.socketPath;
    const outcome = await lost.then(
      () => 'done',
      (error: unknown) => (error instanceof StoreUnavailable ? error.code : error),
    );
    // After five seconds without the server, nobody asks it any more; a busy machine may need them for the restart.
    if (performance.now() - begun < 4000) expect(outcome).toBe(others > 0 ? 'COMMIT_UNKNOWN' : 'done');
    expect(outcome).toBeOneOf(others > 0 ? ['COMMIT_UNKNOWN'] : ['done', 'COMMIT_UNKNOWN']);
    await journalIs(store, outcome === 'done' ? [entry('lost')] : []);
    await store.close();
    await cutter.close();
    await primary.remove();
  });

  it.each([
    ['the restarted primary', 'restart'],
    ['the primary, which ended the connection that waited for the standby,', 'pg_terminate_backend'],
  ])(
    'does not count a commit as done that the standby has not got, although %s shows it',
    async (_who, how) => {
      const primary = await ScratchPostgresql.start();
      const state = await primary.newDatabase();
      const standby = await primary.startStandby();
      await primary.replicateSynchronously();
      const settings = { ...state, connectTimeoutSeconds: 1, statementTimeoutSeconds: 1 };
      const store = await openStateStore(StateConfig.parse(settings), recordingLog());
      await standby.stop();
      const lost = store.run('announce', entry('lost'));
      lost.catch(() => undefined);
      await vi.waitFor(async () =>
        expect(await primary.query('postgres', "select 1 from pg_stat_activity where wait_event = 'SyncRep'")).toHaveLength(1),
      );
      if (how === 'restart') {
        await primary.stop('immediate');
        await primary.restart();
      } else await primary.query('postgres', `select ${how}(pid) from pg_stat_activity where wait_event = 'SyncRep'`);
      await expect(lost).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN' });
      expect(await primary.query(databaseOf(state), 'select key_id from key_journal')).toHaveLength(1);
      await store.close();
      await standby.remove();
      await primary.remove();
    },
    60_000,
  );

  it('says that the schema is newer than the program', async () => {
    const config = await server.newDatabase();
    await (await openStateStore(config, recordingLog())).close();
    await server.query(databaseOf(config), "insert into kysely_migration values ('9999-future', '2030-01-01T00:00:00Z')");
    await expect(openStateStore(config, recordingLog())).rejects.toThrow('newer than this program (unknown migrations: 9999-future)');
  });

  it('continues while a newer version migrates the schema', async () => {
    const config = await server.newDatabase();
    const store = await openStateStore(config, recordingLog());
    await server.query(databaseOf(config), 'alter table keys add column invented text; create table invented (id text primary key)');
    await server.query(databaseOf(config), "insert into kysely_migration values ('9999-future', '2030-01-01T00:00:00Z')");
    const reference = await storedKey(store);
    expect(await store.run('changeKeyState', { reference, from: ['ACTIVE'], to: 'REMOVED', destroys: true, now: 1 })).toBe(true);
    await store.close();
  });

  it('does not wait if waiting would not help', async () => {
    const config = await server.newDatabase();
    await expect(openStateStore(StateConfig.parse({ ...config, database: 'nowhere' }), recordingLog())).rejects.toThrow('does not exist');
    await expect(openStateStore(StateConfig.parse({ ...config, user: 'nobody-here' }), recordingLog())).rejects.toThrow('does not exist');
    const password = join(directory, 'password');
    writeFileSync(password, 'secret', { mode: 0o644 });
    await expect(openStateStore(StateConfig.parse({ ...config, password: `file:${password}` }), recordingLog())).rejects.toThrow(
      'others may read this file',
    );
  });

  it('waits at its start for a server that is away, and says so', async () => {
    const config = await server.newDatabase();
    await server.stop();
    const log = recordingLog();
    const opening = openStateStore(config, log);
    await expect.poll(() => log.lines.length, { timeout: 20_000 }).toBeGreaterThan(0);
    expect(log.lines[0]).toContain('waiting for PostgreSQL');
    await server.restart();
    await (await opening).close();
  });

  it('is STORE_FULL where the server takes no writes', async () => {
    const config = await server.newDatabase();
    await (await openStateStore(config, recordingLog())).close();
    await server.query('postgres', `alter database ${databaseOf(config)} set default_transaction_read_only = on`);
    const store = await openStateStore(config, recordingLog());
    await expect(store.run('announce', entry('one'))).rejects.toMatchObject({ code: 'STORE_FULL' });
    expect(await store.run('journal')).toEqual([]);
    await store.close();
  });

  it('tells an instance that has not polled for long that everything may have changed, and forgets old changes', async () => {
    const config = await server.newDatabase();
    const store = await openStateStore(config, recordingLog());
    const told: unknown[] = [];
    store.onChange((change) => told.push(change));
    await store.refresh();
    const reference = await storedKey(store);
    await store.run('changeKeyState', { reference, from: ['ACTIVE'], to: 'REMOVED', destroys: true, now: 1 });
    await Promise.all([store.refresh(), store.refresh(), store.refresh()]);
    await store.refresh();
    expect(told).toEqual(['everything', { table: 'keys', id: reference }]);
    await server.query('postgres', `select pg_terminate_backend(pid) from pg_stat_activity where datname = '${databaseOf(config)}'`);
    await expect
      .poll(
        async () =>
          store
            .refresh()
            .then(() => told.length)
            .catch(() => 0),
        { timeout: 20_000 },
      )
      .toBe(3);
    expect(told.at(-1)).toBe('everything');
    await store.close();
  });
});
