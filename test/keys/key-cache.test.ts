import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import { KeyCache } from '../../src/keys/key-cache.ts';
import { parseKeyReferenceId, type KeyReferenceId } from '../../src/keys/key-record.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openSqliteStore } from '../../src/state/threaded-store.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { keyRows } from '../state/rows.ts';

const tenant = tenantId('demo');
/** These tests look at what is kept: every row is believed. */
const seals = { keyFault: async () => Promise.resolve(undefined), checkChain: () => undefined };
const slots = { isBusy: () => false };
const known = { forget: () => undefined };
const directory = mkdtempSync(join(tmpdir(), 'signetd-cache-'));
let store: StateStore;

beforeAll(async () => {
  store = await openSqliteStore(join(directory, 'state.sqlite'));
});

afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

async function newKey(digests: string | null): Promise<KeyReferenceId> {
  const certificate = certificateRow();
  const { key } = keyRows({ reference: certificate.sha1, bound_digests: digests });
  await store.run('announce', { key_id: key.key_id, intent: 'CREATE', created_at: 1 });
  await store.run('insertKey', { key, certificate });
  return parseKeyReferenceId(certificate.sha1);
}

describe('keys in memory', () => {
  it('are as many as fit: a long list of digests drives several others out, those in use excepted', async () => {
    const small = [await newKey(null), await newKey(null), await newKey(null), await newKey(null)];
    const [busy] = small;
    const cache = new KeyCache(store, { seals, known, slots: { isBusy: ({ reference }) => reference === busy } }, 32 * 1024);
    for (const reference of small) await cache.find(tenant, reference);
    const there = (): boolean[] => small.map((reference) => cache.cached(reference) !== undefined);
    expect(there()).toEqual([true, true, true, true]);
    const list = JSON.stringify(
      Array.from({ length: 64 }, (_, index) => ({ id: String(index), hash: 'sha256', value: Buffer.alloc(32).toString('base64') })),
    );
    const long = await newKey(list);
    await cache.find(tenant, long);
    expect([there(), cache.cached(long) !== undefined]).toEqual([[true, false, false, true], true]);
  });

  it('that had to go while they were used are read again', async () => {
    const cache = new KeyCache(store, { seals, known, slots }, 1);
    const reference = await newKey(null);
    const record = await cache.find(tenant, reference);
    await cache.find(tenant, await newKey(null));
    expect(cache.cached(reference)).toBeUndefined();
    await store.run('changeKeyState', { reference, from: ['ACTIVE'], to: 'REVOKED', destroys: false, now: 1 });
    await cache.bringUpToDate(record);
    expect(record.state).toBe('REVOKED');
  });

  it('have their secret forgotten where it changed, or the key is out of use, and not for a count of failures', async () => {
    const reference = await newKey(null);
    let forgotten = 0;
    const cache = new KeyCache(store, { seals, slots, known: { forget: () => (forgotten += 1) } });
    const record = await cache.find(tenant, reference);
    const database = new DatabaseSync(join(directory, 'state.sqlite'), { timeout: 10_000 });
    const after = async (change: string): Promise<number> => {
      forgotten = 0;
      database.exec(`update keys set ${change} where reference = '${reference}'`);
      await cache.reread(record);
      return forgotten;
    };
    expect(await after('failures_in_row = 1')).toBe(0);
    expect(await after("secret_mac = x'01'")).toBe(1);
    expect(await after('failures_in_row = 0')).toBe(0);
    expect(await after("state = 'REVOKED'")).toBe(1);
    database.close();
  });
});
