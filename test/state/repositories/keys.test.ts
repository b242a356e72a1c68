import { randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { newKeyId, type KeyId } from '../../../src/token/key-id.ts';
import type { IdentityKeyRow } from '../../../src/state/tables/identity-keys.ts';
import type { OcspResponderRow } from '../../../src/state/tables/revocation.ts';
import { identityRow, keyRows, storedKey } from '../rows.ts';
import { storeOfRows } from './store-of-rows.ts';

const opened = storeOfRows();
const unannounced = { code: 'CREATION_LOST' };

const announce = async (id: string, intent: 'CREATE' | 'DESTROY' = 'CREATE', at = 1): Promise<void> =>
  opened.store.run('announce', { key_id: id, intent, created_at: at });
const journal = (id: string): unknown[] => opened.rows('select intent, created_at from key_journal where key_id = ?', id).slice();

async function announced(): Promise<KeyId> {
  const id = newKeyId('caller');
  await announce(id);
  return id;
}

describe('the keys of a tenant', () => {
  it('are counted and limited as far as they are on the token', async () => {
    const tenant = randomUUID();
    const add = async (keysMax: number | undefined, state = 'ACTIVE', of = tenant): Promise<void> => {
      const { key, certificate } = keyRows({ tenant: of, state });
      await announce(key.key_id);
      await opened.store.run('insertKey', { key, certificate, keysMax });
    };
    await add(1);
    await expect(add(1)).rejects.toMatchObject({ code: 'TENANT_FULL' });
    await add(2, 'ON_HOLD');
    await expect(add(2)).rejects.toMatchObject({ code: 'TENANT_FULL' });
    await add(undefined, 'REMOVED');
    await add(3, 'CONSUMED');
    await add(1, 'ACTIVE', randomUUID());
    expect(await opened.store.run('countKeys', tenant)).toBe(2);
    await add(3);
    expect(await opened.store.run('countKeys', tenant)).toBe(3);
  });

  it('are counted as unsealed or as having a secret while they are on the token', async () => {
    const counts = async (): Promise<number[]> => [await opened.store.run('countUnsealedKeys'), await opened.store.run('countSecrets')];
    const [unsealed = 0, secrets = 0] = await counts();
    for (const state of ['ACTIVE', 'CONSUMED', 'REMOVED']) {
      await storedKey(opened.store, { state });
      await storedKey(opened.store, { state, seal_salt: new Uint8Array(16), seal_mac: new Uint8Array(32) });
    }
    const identity = identityRow();
    await announce(identity.key_id);
    await opened.store.run('insertIdentityKey', identity);
    expect(await counts()).toEqual([unsealed + 1, secrets + 3]);
    await opened.store.run('removeIdentityKey', { reference: identity.reference, now: 1 });
    expect(await counts()).toEqual([unsealed + 1, secrets + 2]);
  });

  it('are listed in pages, in their order', async () => {
    const tenant = randomUUID();
    const references = [];
    for (let key = 0; key < 3; key += 1) references.push(await storedKey(opened.store, { tenant }));
    references.sort();
    const page = async (after?: string, limit = 2): Promise<unknown> =>
      (await opened.store.run('listKeys', { tenant, after, limit })).map(({ reference }) => reference);
    expect([await page(), await page(references[1]), await page(references[2])]).toEqual([references.slice(0, 2), references.slice(2), []]);
    const all = await opened.store.run('listKeys', { limit: 1000 });
    expect(all.length).toBeGreaterThan(3);
  });

  it('change from the states that a change names, and announce their destruction if it ends them', async () => {
    const { key, certificate } = keyRows();
    await announce(key.key_id);
    await opened.store.run('insertKey', { key, certificate });
    const change = async (from: readonly string[], to: string, destroys: boolean): Promise<boolean> =>
      opened.store.run('changeKeyState', { reference: key.reference, from, to, destroys, now: 7 });
    expect(await change(['ON_HOLD', 'REVOKED'], 'REMOVED', true)).toBe(false);
    expect(await change(['ACTIVE'], 'ON_HOLD', false)).toBe(true);
    expect(journal(key.key_id)).toEqual([]);
    expect(await change(['ACTIVE', 'ON_HOLD'], 'REMOVED', true)).toBe(true);
    expect(journal(key.key_id)).toEqual([{ intent: 'DESTROY', created_at: 7 }]);
  });
});

describe('a creation', () => {
  it('is finished once, if it is still announced as one', async () => {
    const { key, certificate } = keyRows();
    await expect(opened.store.run('insertKey', { key, certificate })).rejects.toMatchObject(unannounced);
    await announce(key.key_id, 'DESTROY');
    await expect(opened.store.run('insertKey', { key, certificate })).rejects.toMatchObject(unannounced);
    expect(journal(key.key_id)).toHaveLength(1);
  });

  it('is taken over from those that began before a moment, or of one key whenever it began', async () => {
    const [older, newer, ending] = [newKeyId('caller'), newKeyId('caller'), newKeyId('caller')];
    await announce(older, 'CREATE', -10);
    await announce(newer, 'CREATE', -5);
    await announce(ending, 'DESTROY', -10);
    expect((await opened.store.run('takeOverSteps', { begunBefore: -5 })).toSorted()).toEqual([older, ending].toSorted());
    expect([journal(older), journal(newer)]).toEqual([[{ intent: 'DESTROY', created_at: -10 }], [{ intent: 'CREATE', created_at: -5 }]]);
    expect(await opened.store.run('takeOverStep', newer)).toBe(true);
    expect(journal(newer)).toEqual([{ intent: 'DESTROY', created_at: -5 }]);
    for (const id of [older, newer, ending]) await opened.store.run('finishStep', id);
    expect(await opened.store.run('takeOverStep', newer)).toBe(false);
  });

  it('that only looks whether the store can be written leaves nothing', async () => {
    const before = opened.rows('select count(*) as entries from key_journal');
    await opened.store.run('probe');
    expect(opened.rows('select count(*) as entries from key_journal')).toEqual(before);
  });
});

describe('the pool', () => {
  const pooled = (id: string, at: number, type = 'P-384') =>
    ({ key_id: id, key_type: type, public_key: Uint8Array.of(1), created_at: at, seal_salt: null, seal_mac: null }) as const;

  it('hands out each key once, the oldest of its type first, as one that is being created', async () => {
    const [second, first, other] = [await announced(), await announced(), await announced()];
    await expect(opened.store.run('fillPool', pooled(newKeyId('caller'), 1))).rejects.toMatchObject(unannounced);
    await opened.store.run('fillPool', pooled(second, 20));
    await opened.store.run('fillPool', pooled(first, 10));
    await opened.store.run('fillPool', pooled(other, 5, 'RSA-2048'));
    expect(journal(first)).toEqual([]);
    const levels = await opened.store.run('poolLevels');
    expect(levels.toSorted((one, two) => (one.key_type < two.key_type ? -1 : 1))).toEqual([
      { key_type: 'P-384', keys: 2 },
      { key_type: 'RSA-2048', keys: 1 },
    ]);
    expect(await opened.store.run('poolKeys')).toEqual([first, second, other].toSorted());
    const take = async (): Promise<unknown> => (await opened.store.run('takeFromPool', { keyType: 'P-384', now: 30 }))?.key_id;
    expect([await take(), await take(), await take()]).toEqual([first, second, undefined]);
    expect(journal(first)).toEqual([{ intent: 'CREATE', created_at: 30 }]);
    expect(await opened.store.run('poolKeys')).toEqual([other]);
  });
});

describe('the key of an identity', () => {
  const names = { tenant: 'demo', ca: 'FR03', certificate_id: 'AB12' };
  const add = async (changes: Partial<IdentityKeyRow> = {}): Promise<IdentityKeyRow> => {
    const row = identityRow({ ...names, ...changes });
    await announce(row.key_id);
    await opened.store.run('insertIdentityKey', row);
    return row;
  };

  it('is the only one in use that has its names', async () => {
    const row = await add();
    await expect(add()).rejects.toMatchObject({ code: 'IDENTITY_TAKEN' });
    const others = [{ tenant: 'other' }, { ca: 'FR04' }, { certificate_id: 'AB13' }];
    for (const other of others) expect(await opened.store.run('findIdentityKey', { ...names, ...other })).toBeUndefined();
    for (const other of others) await add(other);
    expect((await opened.store.run('findIdentityKey', names))?.reference).toBe(row.reference);
    const inUse = (await opened.store.run('listIdentityKeys')).filter(({ certificate_id: id }) => /^AB1[23]$/.test(id));
    expect(inUse.map((one) => [one.tenant, one.ca, one.certificate_id])).toEqual([
      ['demo', 'FR03', 'AB12'],
      ['demo', 'FR03', 'AB13'],
      ['demo', 'FR04', 'AB12'],
      ['other', 'FR03', 'AB12'],
    ]);
    expect(await opened.store.run('removeIdentityKey', { reference: row.reference, now: 9 })).toBe(true);
    expect(await opened.store.run('removeIdentityKey', { reference: row.reference, now: 9 })).toBe(false);
    expect(journal(row.key_id)).toEqual([{ intent: 'DESTROY', created_at: 9 }]);
    expect(await opened.store.run('findIdentityKey', names)).toBeUndefined();
    expect(await opened.store.run('identityKeyAt', row.reference)).toMatchObject({ state: 'REMOVED' });
    const next = await add();
    expect((await opened.store.run('findIdentityKey', names))?.reference).toBe(next.reference);
  });
});

describe('a key of the service', () => {
  it('is that of the first instance, and another only where it replaces the one that is lost', async () => {
    const purpose = randomUUID();
    const take = async (id: string, replaces?: string): Promise<string> =>
      opened.store.run('takeServiceKey', { purpose, key_id: id, created_at: 5, replaces });
    const [first, late, next] = [await announced(), await announced(), await announced()];
    expect(await opened.store.run('findServiceKey', purpose)).toBeUndefined();
    expect(await take(first)).toBe(first);
    expect(journal(first)).toEqual([]);
    expect(await take(late)).toBe(first);
    expect(await take(late, 'another')).toBe(first);
    expect(journal(late)).toEqual([{ intent: 'CREATE', created_at: 1 }]);
    expect(await take(next, first)).toBe(next);
    expect(journal(first)).toEqual([{ intent: 'DESTROY', created_at: 5 }]);
    expect(await opened.store.run('findServiceKey', purpose)).toBe(next);
    await expect(take(newKeyId('audit'), next)).rejects.toMatchObject(unannounced);
    expect(await opened.store.run('findServiceKey', purpose)).toBe(next);
  });

  it('for checkpoints is kept with its public key, and those before it', async () => {
    const take = async (id: string, at: number, replaces?: string): Promise<string> =>
      opened.store.run('takeAuditKey', { key_id: id, public_key: Uint8Array.of(at), created_at: at, replaces, succession: null });
    const [first, late, next] = [await announced(), await announced(), await announced()];
    expect(await opened.store.run('findAuditKey')).toBeUndefined();
    expect([await take(first, 1), await take(late, 2), await take(next, 3, first)]).toEqual([first, first, next]);
    expect(await opened.store.run('findAuditKey')).toBe(next);
    expect((await opened.store.run('auditKeys')).map(({ key_id: id }) => id)).toEqual([next, first]);
  });

  it('for MACs is made by one instance at a time, until its check value is known', async () => {
    const claim = async (name: string, until: number, freeBefore: number): Promise<boolean> =>
      opened.store.run('claimMacKey', { claim: name, until, freeBefore });
    const keep = async (name: string): Promise<boolean> => opened.store.run('keepMacKeyCheck', { claim: name, check: Uint8Array.of(4) });
    expect(await claim('a', 100, 50)).toBe(true);
    expect(await opened.store.run('listMacKeys')).toEqual([]);
    expect([await claim('b', 200, 100), await claim('b', 200, 101)]).toEqual([false, true]);
    expect(await keep('a')).toBe(false);
    await opened.store.run('releaseMacKey', 'a');
    expect(await claim('c', 300, 200)).toBe(false);
    await opened.store.run('releaseMacKey', 'b');
    expect(await keep('b')).toBe(false);
    expect(await claim('c', 300, 1)).toBe(true);
    expect([await keep('c'), await keep('c')]).toEqual([true, false]);
    expect(await opened.store.run('listMacKeys')).toEqual([{ generation: 0, check: Uint8Array.of(4), destroyedAt: null }]);
    expect(await claim('d', 900, 800)).toBe(false);
  });
});

describe('a responder', () => {
  const responder = (id: string, generation: number, notAfter = 100): OcspResponderRow => ({
    ...{ authority: 'ca', signer: 's', generation, key_id: id, der: Uint8Array.of(generation), not_before: 1, not_after: notAfter },
  });

  it('of a generation is registered once, the newest first, and ends with the announcement of its key', async () => {
    const [first, second, late] = [await announced(), await announced(), await announced()];
    const take = async (row: OcspResponderRow): Promise<boolean> => opened.store.run('takeOcspResponder', row);
    expect([await take(responder(first, 1, 99)), await take(responder(second, 2)), await take(responder(late, 2))]).toEqual([
      true,
      true,
      false,
    ]);
    await expect(take(responder(newKeyId('ocsp'), 3))).rejects.toMatchObject(unannounced);
    expect(journal(first)).toEqual([]);
    expect(journal(late)).toHaveLength(1);
    const found = async (authority = 'ca', signer = 's'): Promise<string[]> =>
      (await opened.store.run('ocspResponders', { authority, signer })).map(({ key_id: id }) => id);
    expect([await found(), await found('other'), await found('ca', 'other')]).toEqual([[second, first], [], []]);
    const retire = async (endedBefore: number): Promise<string[]> => opened.store.run('retireOcspResponders', { endedBefore, now: 7 });
    expect([await retire(99), await retire(100)]).toEqual([[], [first]]);
    expect(journal(first)).toEqual([{ intent: 'DESTROY', created_at: 7 }]);
    expect(await found()).toEqual([second]);
  });
});

it('the position in a log moves forward alone, each log by itself', async () => {
  const keep = async (log: string, records: number, hash: string): Promise<void> =>
    opened.store.run('keepAuditHead', { log, records, hash, file: records });
  await keep('a', 5, 'five');
  await keep('b', 1, 'one');
  await keep('a', 5, 'other');
  await keep('a', 4, 'four');
  expect(await opened.store.run('auditHead', 'a')).toEqual({ log: 'a', records: 5, hash: 'five', file: 5 });
  await keep('a', 6, 'six');
  expect(await opened.store.run('auditHead', 'a')).toEqual({ log: 'a', records: 6, hash: 'six', file: 6 });
  expect(await opened.store.run('auditHead', 'b')).toMatchObject({ records: 1 });
  expect(await opened.store.run('auditHead', 'c')).toBeUndefined();
});

it('audit records are listed of one instance by the beginning of their names', async () => {
  for (const id of ['one-1', 'two-1', 'one-2']) await opened.store.run('addAuditRecord', { id, created_at: 1, record: '{}' });
  const listed = async (idPrefix?: string): Promise<string[]> =>
    (await opened.store.run('listAuditRecords', { limit: 10, ...(idPrefix === undefined ? {} : { idPrefix }) })).map(({ id }) => id);
  expect([await listed('one-'), await listed()]).toEqual([
    ['one-1', 'one-2'],
    ['one-1', 'one-2', 'two-1'],
  ]);
});

it('clients are listed by name, and what is registered again is not added', async () => {
  const client = (spki: string, name: string) =>
    ({ spki_sha256: spki, name, tenant: 'demo', roles: '[]', created_at: 1, not_before: 1, not_after: 2 }) as const;
  for (const one of [client('c', 'b'), client('a', 'b'), client('b', 'a')]) expect(await opened.store.run('addClient', one)).toBe(true);
  expect(await opened.store.run('addClient', client('a', 'other'))).toBe(false);
  expect((await opened.store.run('listClients')).map((one) => `${one.name} ${one.spki_sha256}`)).toEqual(['a b', 'b a', 'b c']);
  const revoke = async (now: number): Promise<boolean> => opened.store.run('revokeClient', { spkiSha256: 'a', now });
  expect([await revoke(5), await revoke(6)]).toEqual([true, false]);
  const revoked = { spki_sha256: 'a', name: 'b', tenant: 'demo', registered_at: 1, not_after: 2 };
  expect(await opened.store.run('listRevokedClients')).toEqual([{ ...revoked, revoked_at: 5 }]);
  const isAdmitted = async (spkiSha256: string, again: boolean): Promise<boolean> => opened.store.run('admitKey', { spkiSha256, again });
  // The second time, the key comes again and is revoked again.
  for (const now of [7, 8]) {
    expect([await isAdmitted('a', false), await isAdmitted('b', false), await isAdmitted('a', true)]).toEqual([false, true, true]);
    expect(await opened.store.run('listRevokedClients')).toEqual([]);
    expect(await opened.store.run('addClient', client('a', 'b'))).toBe(true);
    expect(await revoke(now)).toBe(true);
    expect(await opened.store.run('listRevokedClients')).toEqual([{ ...revoked, revoked_at: now }]);
  }
  await opened.store.run('registerClient', { ...client('b', 'z'), roles: '["x"]', created_at: 9 });
  expect((await opened.store.run('listClients')).at(-1)).toMatchObject({ name: 'z', roles: '["x"]', created_at: 1 });
});

it('expired tokens of identity providers are deleted, as many as are asked for', async () => {
  for (const end of [1, 2, 3]) await opened.store.run('useIdentityToken', { id: randomUUID(), ends_at: end });
  const prune = async (now: number, limit: number): Promise<number> => opened.store.run('pruneIdentityTokens', { now, limit });
  expect([await prune(0, 9), await prune(2, 1), await prune(2, 9), await prune(3, 9)]).toEqual([0, 1, 1, 1]);
});
