import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openSqliteStore, type StateStore } from '../../src/state/state-store.ts';
import { step } from '../../src/state/step.ts';

let directory: string;
let store: StateStore;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-state-'));
  store = await openSqliteStore(join(directory, 'state.sqlite'));
});

afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

const entry = (id: string): { key_id: string; intent: 'CREATE'; created_at: number } => ({ key_id: id, intent: 'CREATE', created_at: 1 });

describe('the state store', () => {
  it('commits each of many operations at once, and undoes alone the one that fails', async () => {
    const outcomes = await Promise.allSettled(['a', 'b', 'a', 'c'].map(async (id) => store.run('announce', entry(id))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect((await store.run('journal')).map(({ key_id: id }) => id).toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('commits several steps together, or none of them', async () => {
    const record = { id: 'one', created_at: 1, record: '{}' };
    const [, records] = await store.commit([step('addAuditRecord', record), step('listAuditRecords', { limit: 10 })]);
    expect(records).toEqual([record]);
    await expect(store.commit([step('addAuditRecord', { ...record, id: 'two' }), step('addAuditRecord', record)])).rejects.toThrow(
      'UNIQUE',
    );
    expect(await store.run('listAuditRecords', { limit: 10 })).toEqual([record]);
    await store.run('deleteAuditRecords', ['one', 'unknown']);
    expect(await store.run('listAuditRecords', { limit: 10 })).toEqual([]);
  });

  it('has everything again after it was closed and opened', async () => {
    const path = join(directory, 'again.sqlite');
    const first = await openSqliteStore(path);
    await first.run('registerClient', { spki_sha256: 'x', name: 'app', tenant: 'demo', roles: '["keys"]', created_at: 1 });
    await first.run('registerClient', { spki_sha256: 'x', name: 'app', tenant: 'other', roles: '["signature"]', created_at: 2 });
    await first.close();
    const second = await openSqliteStore(path);
    expect(await second.run('listClients')).toEqual([
      { spki_sha256: 'x', name: 'app', tenant: 'other', roles: '["signature"]', created_at: 1 },
    ]);
    await second.close();
  });

  it('says clearly that a file is no database, and that a directory is missing', async () => {
    writeFileSync(join(directory, 'text.sqlite'), 'this is no database, and long enough to be read as a header of one'.repeat(20));
    await expect(openSqliteStore(join(directory, 'text.sqlite'))).rejects.toThrow('not a database');
    await expect(openSqliteStore(join(directory, 'nowhere', 'state.sqlite'))).rejects.toThrow('unable to open');
  });
});
