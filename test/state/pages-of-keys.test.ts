import { pathToFileURL } from 'node:url';
import { Kysely, SqliteDialect } from 'kysely';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { listKeys } from '../../src/state/repositories/keys.ts';
import type { Schema } from '../../src/state/schema.ts';
import { openDatabase } from '../../src/state/sqlite/node-sqlite.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { ScratchPostgresql } from '../support/postgresql.ts';
import { recordingLog } from '../support/silent-log.ts';
import { databases } from './databases.ts';
import { storedKey } from './rows.ts';

const removal = (reference: string) => ({ reference, from: ['ACTIVE'], to: 'REMOVED', destroys: true, now: 1 });

describe.each(Object.entries(databases))('pages of keys on %s', (_name, kind) => {
  const database = kind();
  let store: StateStore;

  beforeAll(async () => {
    await database.start();
    store = await openStateStore(await database.fresh(), recordingLog());
  });

  afterAll(async () => {
    await store.close();
    await database.stop();
  });

  it.each([undefined, 'demo'])('have each key once, in order, whatever changes between them (tenant: %s)', async (tenant) => {
    const before: string[] = [];
    for (let index = 0; index < 12; index += 1) before.push(await storedKey(store, { tenant: index % 3 === 0 ? 'other' : 'demo' }));
    const expected = before.filter((_, index) => tenant === undefined || index % 3 !== 0);
    const seen: string[] = [];
    for (;;) {
      const page = await store.run('listKeys', { tenant, after: seen.at(-1), limit: 3 });
      seen.push(...page.map(({ reference }) => reference));
      if (page.length < 3) break;
      // One is removed and one is made, before or behind where the pages are.
      await store.run('changeKeyState', removal(page[0]?.reference ?? ''));
      if (seen.length < 30) await storedKey(store);
    }
    expect(seen).toEqual([...new Set(seen)].toSorted());
    expect(seen).toEqual(expect.arrayContaining(expected));
  });
});

describe('a page of the keys of a tenant', () => {
  const values = ["'8'", "'demo'", '500'];
  let statement = '';
  const sqlite = databases.SQLite();

  beforeAll(async () => sqlite.start());
  afterAll(async () => sqlite.stop());
  beforeAll(async () => {
    const statements: string[] = [];
    const dialect = new SqliteDialect({ database: openDatabase(pathToFileURL(await migrated()), true) });
    const db = new Kysely<Schema>({ dialect, log: ({ query }) => void statements.push(query.sql) });
    await db.transaction().execute(async (transaction) => listKeys(transaction, { tenant: 'demo', after: '8', limit: 500 }));
    await db.destroy();
    statement = values.reduce((text, value) => text.replace('?', value), statements.find((text) => text.startsWith('select')) ?? '');
  });

  async function migrated(): Promise<string> {
    const config = await sqlite.fresh();
    await (await openStateStore(config, recordingLog())).close();
    return config.kind === 'sqlite' ? config.path : '';
  }

  it('is read in the order of an index on SQLite', async () => {
    const database = openDatabase(pathToFileURL(await migrated()), true);
    const plan = JSON.stringify(database.prepare(`explain query plan ${statement}`).all([]));
    database.close();
    expect(plan).toContain('(tenant=? AND reference>?)');
  });

  it('is read in the order of an index on PostgreSQL', async () => {
    const server = await ScratchPostgresql.start();
    try {
      const config = await server.newDatabase();
      await (await openStateStore(config, recordingLog())).close();
      const database = config.kind === 'postgresql' ? config.database : '';
      await server.query(
        database,
        `insert into certificates select encode(sha256(n::text::bytea), 'hex'), 'demo', 'issuing', n, ''::bytea, 0, 0 from generate_series(1, 20000) n;
         insert into keys (reference, tenant, key_id, key_type, protocol, state, secret_salt, secret_mac, created_at)
           select sha1, case when serial_number::int % 2 = 0 then 'demo' else 'other' end, serial_number, 'P-256', 'OTP', 'ACTIVE', ''::bytea, ''::bytea, 0
           from certificates;
         analyze`,
      );
      const plan = JSON.stringify(await server.query(database, `explain ${statement}`));
      expect(plan).toContain('Index Scan using keys_tenant_reference');
    } finally {
      await server.remove();
    }
  });
});
