import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { StateConfig } from '../../src/config/state-config.ts';
import { Fault } from '../../src/faults.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { deciding, step, type Step } from '../../src/state/step.ts';
import { recordingLog } from '../support/silent-log.ts';
import { databases } from './databases.ts';
import { keyRows, storedKey } from './rows.ts';

const entry = (id: string, at = 1): { key_id: string; intent: 'CREATE'; created_at: number } => ({
  key_id: id,
  intent: 'CREATE',
  created_at: at,
});
const rule = { failuresInRow: 5, lockMs: 900_000, failuresSinceSuccess: 20, now: 1_000_000_000_000 };
const removal = (reference: string) => ({ reference, from: ['ACTIVE'], to: 'REMOVED', destroys: true, now: 1 });
const states = ['ACTIVE'];
const later = (ms: number): typeof rule => ({ ...rule, now: rule.now + ms });

describe.each(Object.entries(databases))('the repositories on %s', (_name, kind) => {
  const database = kind();
  let config: StateConfig;
  let store: StateStore;

  beforeAll(async () => {
    await database.start();
    config = await database.fresh();
    store = await openStateStore(config, recordingLog());
  });

  afterAll(async () => {
    await store.close();
    await database.stop();
  });

  it('commit each of many operations at once, and undo alone the one that fails', async () => {
    const outcomes = await Promise.allSettled(['a', 'b', 'a', 'c'].map(async (id) => store.run('announce', entry(id))));
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
    expect((await store.run('journal')).map(({ key_id: id }) => id).toSorted()).toEqual(['a', 'b', 'c']);
    for (const id of ['a', 'b', 'c']) await store.run('finishStep', id);
  });

  it('commit several steps together, or none of them', async () => {
    const record = { id: 'one', created_at: 1, record: '{"a":"é"}' };
    const [, records] = await store.commit([step('addAuditRecord', record), step('listAuditRecords', { limit: 10 })]);
    expect(records).toEqual([record]);
    await expect(store.commit([step('addAuditRecord', { ...record, id: 'two' }), step('addAuditRecord', record)])).rejects.toThrow(
      /unique/i,
    );
    expect(await store.run('listAuditRecords', { limit: 10 })).toEqual([record]);
  });

  it('carry out what depends on a step where that changed something, and not otherwise', async () => {
    const client = { spki_sha256: 'e0', name: 'app', tenant: 'demo', roles: '[]', created_at: 1, not_before: 1, not_after: 2 };
    const reference = await storedKey(store);
    const said = async (id: string, first: Step): Promise<boolean> => {
      await store.commit([deciding(first), step('addAuditRecord', { id, created_at: 1, record: '{}' })]);
      const isThere = (await store.run('listAuditRecords', { limit: 10 })).some((record) => record.id === id);
      await store.run('deleteAuditRecords', [id]);
      return isThere;
    };
    const steps = [
      step('addClient', client),
      step('addClient', client),
      step('revokeClient', { spkiSha256: 'e0', now: 1 }),
      step('revokeClient', { spkiSha256: 'e0', now: 1 }),
      step('unlockKey', { reference }),
      step('unlockKey', { reference: '0'.repeat(40) }),
      step('changeKeyState', { ...removal(reference), destroys: false }),
      step('changeKeyState', { ...removal(reference), destroys: false }),
    ];
    const told: boolean[] = [];
    for (const [index, first] of steps.entries()) told.push(await said(String(index), first));
    expect(told).toEqual([true, false, true, false, true, false, true, false]);
  });

  it('list audit records oldest first, as many as asked, and delete those named', async () => {
    for (const [id, at] of [
      ['z', 5],
      ['y', 5],
      ['x', 9],
    ] as const) {
      await store.run('addAuditRecord', { id, created_at: at, record: '{}' });
    }
    expect((await store.run('listAuditRecords', { limit: 3 })).map(({ id }) => id)).toEqual(['one', 'y', 'z']);
    await store.run('deleteAuditRecords', []);
    await store.run('deleteAuditRecords', ['one', 'x', 'y', 'z', 'unknown']);
    expect(await store.run('listAuditRecords', { limit: 3 })).toEqual([]);
  });

  it('register a client, and change what is registered under its key', async () => {
    const client = {
      spki_sha256: 'f0',
      name: 'app',
      tenant: 'demo',
      roles: '["keys"]',
      created_at: 1_800_000_000_000,
      not_before: 1,
      not_after: 2,
    };
    await store.run('registerClient', client);
    await store.run('registerClient', { ...client, tenant: 'other', roles: '["signature"]', created_at: 2 });
    expect(await store.run('listClients')).toEqual([{ ...client, tenant: 'other', roles: '["signature"]' }]);
  });

  it('answer a key with its certificate, times as numbers and bytes as bytes', async () => {
    const { key, certificate } = keyRows({ locked_until: 9_007_199_254_740_991 });
    await store.run('announce', entry(key.key_id));
    await store.run('insertKey', { key, certificate });
    const row = await store.run('findKey', key.reference);
    expect(row).toEqual({
      ...key,
      ...{ der: certificate.der, not_after: certificate.not_after, authority: certificate.authority, issuing_chain: null },
      certificate_tenant: certificate.tenant,
      ...{ reserved: 0, reserved_until: null, secret_former_mac: null },
    });
    expect(row?.der.buffer.byteLength).toBe(certificate.der.byteLength);
    expect(await store.run('findKey', '0'.repeat(40))).toBeUndefined();
    expect(await store.run('journal')).toEqual([]);
  });

  it('keep the chain that certificates were issued under, once for all of them', async () => {
    const issuers = { id: 'c1', der: new Uint8Array([0x30, 0x00]) };
    for (const { key, certificate } of [keyRows(), keyRows()]) {
      await store.run('announce', entry(key.key_id));
      await store.run('insertKey', { key, certificate, issuers });
      expect((await store.run('findKey', key.reference))?.issuing_chain).toBe('c1');
    }
    expect(await store.run('findIssuingChain', 'c1')).toEqual(issuers.der);
    expect(await store.run('findIssuingChain', 'c2')).toBeUndefined();
  });

  it('consume a token once, and forget it when it has expired', async () => {
    const token = { id: 'f1', ends_at: 1000 };
    expect(await store.run('isIdentityTokenUsed', token.id)).toBe(false);
    const attempts = await Promise.allSettled(Array.from({ length: 8 }, async () => store.run('useIdentityToken', token)));
    expect(attempts.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(attempts.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))).toEqual(
      Array.from({ length: 7 }, () => new Fault('IDENTITY_TOKEN_USED')),
    );
    expect(await store.run('isIdentityTokenUsed', token.id)).toBe(true);
    expect(await store.run('pruneIdentityTokens', { now: 999, limit: 10 })).toBe(0);
    expect(await store.run('pruneIdentityTokens', { now: 1000, limit: 10 })).toBe(1);
    expect(await store.run('isIdentityTokenUsed', token.id)).toBe(false);
  });

  it('insert no key whose creation was taken over meanwhile', async () => {
    const { key, certificate } = keyRows();
    await store.run('announce', entry(key.key_id, 500));
    expect(await store.run('takeOverSteps', { begunBefore: 500 })).toEqual([]);
    expect(await store.run('takeOverSteps', { begunBefore: 501 })).toEqual([key.key_id]);
    await expect(store.run('insertKey', { key, certificate })).rejects.toMatchObject({ code: 'CREATION_LOST' });
    expect(await store.run('findKey', key.reference)).toBeUndefined();
    expect(await store.run('takeOverStep', key.key_id)).toBe(true);
    await store.run('finishStep', key.key_id);
    expect(await store.run('takeOverStep', key.key_id)).toBe(false);
  });

  it('remove a key once, however many ask', async () => {
    const reference = await storedKey(store);
    const answers = await Promise.all(
      Array.from({ length: 5 }, async () => store.run('changeKeyState', { ...removal(reference), now: 7 })),
    );
    expect(answers.filter(Boolean)).toHaveLength(1);
    const steps = await store.run('journal');
    expect(steps).toEqual([{ key_id: (await store.run('findKey', reference))?.key_id, intent: 'DESTROY', created_at: 7 }]);
    await store.run('finishStep', steps[0]?.key_id ?? '');
    expect(await store.run('reserveUse', { reference, rule, states, atOnce: 5, until: rule.now + 1 })).toBeUndefined();
  });

  it('reserve no more attempts than a key has left, and give them back', async () => {
    const reference = await storedKey(store, { failures_in_row: 2, failures_since_success: 2 });
    const until = rule.now + 60_000;
    const reserve = async (): Promise<boolean> =>
      (await store.run('reserveUse', { reference, rule, states, atOnce: 5, until })) !== undefined;
    const answers = await Promise.all(Array.from({ length: 8 }, reserve));
    expect(answers.filter(Boolean)).toHaveLength(3);
    await store.run('settleUse', { reference, rule, reserved: true, verdict: 'fault' });
    expect([await reserve(), await reserve()]).toEqual([true, false]);
    // Those of an instance that died end by their time.
    expect(await store.run('reserveUse', { reference, rule: later(60_000), states, atOnce: 5, until: until + 60_000 })).toBeDefined();
    expect(await store.run('findKey', reference)).toMatchObject({ reserved: 1, reserved_until: until + 60_000 });
  });

  it('count failures, lock, and begin again when the lock has ended', async () => {
    const reference = await storedKey(store);
    const fail = async (at: typeof rule): Promise<unknown> =>
      store.run('settleUse', { reference, rule: at, reserved: false, verdict: 'wrong' });
    await Promise.all([1, 2, 3, 4].map(async () => fail(rule)));
    expect(await fail(rule)).toEqual({ failures_in_row: 5, failures_since_success: 5, locked_until: rule.now + rule.lockMs });
    expect(await store.run('reserveUse', { reference, rule, states, atOnce: 5, until: rule.now + 1 })).toBeUndefined();
    expect(await store.run('settleUse', { reference, rule, reserved: false, verdict: 'right' })).toMatchObject({
      failures_in_row: 5,
    });
    const after = later(rule.lockMs);
    expect(await fail(after)).toEqual({ failures_in_row: 1, failures_since_success: 6, locked_until: null });
    expect(await store.run('settleUse', { reference, rule: after, reserved: false, verdict: 'right' })).toEqual({
      failures_in_row: 0,
      failures_since_success: 0,
      locked_until: null,
    });
  });

  it('leave the counters as they are after a right secret that is not the one they guard', async () => {
    const reference = await storedKey(store, { failures_in_row: 3, failures_since_success: 8 });
    const until = rule.now + 60_000;
    await store.run('reserveUse', { reference, rule, states, atOnce: 5, until });
    const settlement = { reference, rule, reserved: true, verdict: 'right' as const, setsBack: false };
    expect(await store.run('settleUse', settlement)).toEqual({ failures_in_row: 3, failures_since_success: 8, locked_until: null });
    expect(await store.run('findKey', reference)).toMatchObject({ reserved: 0 });
  });

  it('keep a key locked that had too many failures without a success', async () => {
    const reference = await storedKey(store, { failures_since_success: 19 });
    const until = rule.now + 60_000;
    const reserve = async (): Promise<boolean> =>
      (await store.run('reserveUse', { reference, rule, states, atOnce: 5, until })) !== undefined;
    expect([await reserve(), await reserve()]).toEqual([true, false]);
    await store.run('settleUse', { reference, rule, reserved: true, verdict: 'wrong' });
    expect(await reserve()).toBe(false);
    expect(await store.run('settleUse', { reference, rule, reserved: false, verdict: 'right' })).toMatchObject({
      failures_since_success: 20,
    });
  });

  it('keep everything when the store is closed and opened', async () => {
    const reference = await storedKey(store);
    await store.close();
    store = await openStateStore(config, recordingLog());
    expect(await store.run('findKey', reference)).toMatchObject({ reference, subscriber_phone: '+33123456789' });
  });

  it('let two concurrent starts migrate a new database', async () => {
    const fresh = await database.fresh();
    const [one, two] = await Promise.allSettled([openStateStore(fresh, recordingLog()), openStateStore(fresh, recordingLog())]);
    // SQLite is for one process, which says so.
    const opened = [one, two].flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
    expect(opened).toHaveLength(fresh.kind === 'sqlite' ? 1 : 2);
    for (const each of opened) {
      await each.run('probe');
      await each.close();
    }
  });
});
