import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import { checkUsable, stateOf } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import { lockRule } from '../../src/keys/key-record.ts';
import { Refusal } from '../../src/result-codes.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import type { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { TokenUnavailable } from '../../src/token/token.ts';
import { databases } from '../state/databases.ts';
import { recordingLog } from '../support/silent-log.ts';
import { tokenAndStore, type TokenAndStore } from '../support/token-and-store.ts';
import { tokenWith } from '../support/token-with.ts';
import { certificateRow } from '../support/certificate-row.ts';

let around: TokenAndStore;
let token: TokenClient;
let store: StateStore;
let keys: Keyring;

beforeAll(async () => {
  around = await tokenAndStore();
  ({ token, store } = around);
  keys = new Keyring(store, token);
});

afterAll(async () => {
  await around.end();
});

const onToken = async (): Promise<string[]> => (await token.listKeys()).map(({ id }) => id);
const request = { tenant: tenantId('demo'), type: 'P-256', protocol: 'PASSWORD', subscriber: {} } as const;
const removal = { from: ['ACTIVE'], to: 'REMOVED', destroys: true };
const given = (password: string) => ({ member: 'password', bytes: Buffer.from(password), transactionId: undefined }) as const;

describe('key life cycle', () => {
  it('leaves no key on the token when the certificate cannot be issued', async () => {
    const before = await onToken();
    await expect(keys.create({ ...request, issue: async () => Promise.reject(new Refusal('ISSUANCE_REFUSED')) })).rejects.toThrow(Refusal);
    expect(await onToken()).toEqual(before);
    expect(await store.run('journal')).toEqual([]);
  });

  it('leaves no key on the token when its record cannot be written', async () => {
    const row = certificateRow();
    await keys.create({ ...request, issue: async () => Promise.resolve({ row }) });
    const before = await onToken();
    await expect(keys.create({ ...request, issue: async () => Promise.resolve({ row }) })).rejects.toThrow('UNIQUE');
    expect(await onToken()).toEqual(before);
  });

  it('ends no attempt of another instance on the same database', async () => {
    const database = databases.PostgreSQL();
    await database.start();
    const shared = await openStateStore(await database.fresh(), recordingLog());
    try {
      const { reference } = await new Keyring(shared, token).create({
        ...request,
        issue: async () => Promise.resolve({ row: certificateRow() }),
      });
      const rule = { ...lockRule, now: Date.now() };
      const attempt = { reference, rule, until: rule.now + 60_000, states: ['ACTIVE'] as const, atOnce: 1, otp: undefined };
      expect(await shared.run('reserveUse', attempt)).toBeDefined();
      await new Keyring(shared, token).recover();
      expect(await shared.run('reserveUse', attempt)).toBeUndefined();
    } finally {
      await shared.close();
      await database.stop();
    }
  });

  it('undoes at the next start what a crash left between token and record', async () => {
    const id = newKeyId('caller');
    await store.run('announce', { key_id: id, intent: 'CREATE', created_at: Date.now() });
    await token.createKey(id, 'P-256');
    expect(await onToken()).toContain(id);
    expect((await new Keyring(store, token).recover()).finished).toBe(1);
    expect(await onToken()).not.toContain(id);
    expect(await store.run('journal')).toEqual([]);
  });

  it('keeps keys that the configuration names, whatever the journal says', async () => {
    const id = newKeyId('general');
    await token.createKey(id, 'P-256');
    await store.run('announce', { key_id: id, intent: 'DESTROY', created_at: Date.now() });
    expect(await new Keyring(store, token, { configured: [id] }).recover()).toEqual({ finished: 0, kept: [id] });
    expect(await onToken()).toContain(id);
    expect((await new Keyring(store, token).recover()).finished).toBe(1);
    expect(await onToken()).not.toContain(id);
  });

  it('finishes at the next start the removal that a crash cut short', async () => {
    const { reference } = await keys.create({ ...request, issue: async () => Promise.resolve({ row: certificateRow() }) });
    const key = await keys.find(request.tenant, reference);
    expect(await store.run('changeKeyState', { reference, ...removal, now: Date.now() })).toBe(true);
    expect(await store.run('changeKeyState', { reference, ...removal, now: Date.now() })).toBe(false);
    expect(await onToken()).toContain(key.id);
    await new Keyring(store, token).recover();
    expect(await onToken()).not.toContain(key.id);
  });

  it('goes on where the token does not destroy one key, says so, and destroys it when the token does', async () => {
    const [stubborn, other] = [newKeyId('caller'), newKeyId('caller')];
    for (const id of [stubborn, other]) {
      await store.run('announce', { key_id: id, intent: 'CREATE', created_at: Date.now() });
      await token.createKey(id, 'P-256');
    }
    let refuses = true;
    const refusing = tokenWith(token, {
      destroyKey: async (id) =>
        refuses && id === stubborn ? Promise.reject(new TokenUnavailable('PKCS#11 0x1b: CKR_ACTION_PROHIBITED')) : token.destroyKey(id),
    });
    const log = recordingLog();
    const next = new Keyring(store, refusing, { log });
    expect(await next.recover()).toEqual({ finished: 1, kept: [] });
    expect(next.destruction.left).toEqual([{ id: stubborn, reason: 'PKCS#11 0x1b: CKR_ACTION_PROHIBITED' }]);
    expect(log.lines.join()).toContain('a key to be destroyed is still on the token');
    const left = await onToken();
    expect([left.includes(stubborn), left.includes(other)]).toEqual([true, false]);
    expect(await store.run('journal')).toMatchObject([{ key_id: stubborn, intent: 'DESTROY' }]);
    refuses = false;
    await vi.waitUntil(() => next.destruction.left.length === 0, { timeout: 30_000 });
    expect(await onToken()).not.toContain(stubborn);
    expect(await store.run('journal')).toEqual([]);
  });

  it('answers KEY_STATE to the right secret of a key that is gone from the token, ACTIVATION_FAILED to a wrong one, and goes on with its host', async () => {
    const { reference, secret } = await keys.create({ ...request, issue: async () => Promise.resolve({ row: certificateRow() }) });
    const key = await keys.find(request.tenant, reference);
    const { hostPid } = token;
    const toBeSigned = { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, digests: [new Uint8Array(32)], documents: [] } as const;
    const sign = async (password: string): Promise<object> =>
      keys.sign(key, given(password), toBeSigned, async (values) => Promise.resolve(values));
    expect(await sign(secret.password ?? '')).toHaveLength(1);
    // What a store tells that was restored from before the key was removed.
    await token.destroyKey(key.id);
    await expect(sign(secret.password ?? '')).rejects.toMatchObject({ code: 'KEY_STATE' });
    await expect(sign('wrong')).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
    await expect(sign(secret.password ?? '')).rejects.toMatchObject({ code: 'KEY_STATE' });
    expect(token.hostPid).toBe(hostPid);
    expect(token.ready).toBe(true);
  });

  it('keeps failures and locks over a restart', async () => {
    const { reference, secret } = await keys.create({
      ...request,
      issue: async () => Promise.resolve({ row: certificateRow() }),
    });
    const key = await keys.find(request.tenant, reference);
    for (let attempt = 0; attempt < 5; attempt += 1) expect(await keys.verifySecret(key, given('wrong'))).toBe(false);
    const later = new Keyring(store, token);
    const again = await later.find(request.tenant, reference);
    expect(await later.verifySecret(again, given(secret.password ?? ''))).toBeUndefined();
    expect(() => {
      later.checkUsable(again, 'sign');
    }).toThrow(expect.objectContaining({ code: 'KEY_LOCKED' }) as Error);
  });

  it('locks for good after twenty failures without a success, and lifts a lock that has ended', async () => {
    const { reference, secret } = await keys.create({
      ...request,
      issue: async () => Promise.resolve({ row: certificateRow() }),
    });
    const rule = { failuresInRow: 5, lockMs: 15 * 60_000, failuresSinceSuccess: 20 };
    const past = Date.now() - 100 * 60_000;
    for (let attempt = 0; attempt < 7; attempt += 1)
      await store.run('settleUse', {
        reference,
        reserved: false,
        verdict: 'wrong',
        rule: { ...rule, now: past + attempt * 16 * 60_000 * Math.floor(attempt / 5) },
      });
    const opened = new Keyring(store, token);
    expect(await opened.verifySecret(await opened.find(request.tenant, reference), given(secret.password ?? ''))).toBe(true);
    for (let attempt = 0; attempt < 20; attempt += 1)
      await store.run('settleUse', { reference, reserved: false, verdict: 'wrong', rule: { ...rule, now: past } });
    const locked = new Keyring(store, token);
    const key = await locked.find(request.tenant, reference);
    expect(() => {
      locked.checkUsable(key, 'sign');
    }).toThrow('until the operator unlocks it');
  });

  it('is KEY_STATE once the certificate has ended, for signing and not for removal', async () => {
    const { reference } = await keys.create({ ...request, issue: async () => Promise.resolve({ row: certificateRow() }) });
    const key = await keys.find(request.tenant, reference);
    const end = key.certificate.notAfter.getTime();
    expect([stateOf(key, end - 1), stateOf(key, end)]).toEqual(['ACTIVE', 'EXPIRED']);
    expect(() => {
      checkUsable(key, 'sign', end);
    }).toThrow(expect.objectContaining({ code: 'KEY_STATE' }) as Error);
    expect(() => {
      checkUsable(key, 'remove', end);
    }).not.toThrow();
  });
});
