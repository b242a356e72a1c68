import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { OtpRow } from '../../../src/state/tables/keys.ts';
import type { UseReservation, UseSettlement } from '../../../src/state/repositories/uses.ts';
import { identityRow, storedKey } from '../rows.ts';
import { storeOfRows } from './store-of-rows.ts';

const opened = storeOfRows();
const now = 1_000_000_000_000;
const rule = { failuresInRow: 5, lockMs: 900, failuresSinceSuccess: 20, now };
const states = ['ACTIVE'];
const until = now + 60;
const mac = new Uint8Array(32);

let reference = '';
beforeEach(async () => {
  await opened.store.run('dropOtps');
  reference = await storedKey(opened.store);
});

const otp = (changes: Partial<OtpRow> = {}): OtpRow => ({
  ...{ reference, action: 'SIGN', otp_id: randomUUID(), salt: new Uint8Array(16), mac, seal_salt: null, seal_mac: null },
  ...{ bound_digests: null, attempts_left: 2, reserved_until: null, expires_at: now + 100 },
  ...{ signatures: null, client: null, ends_at: null, ...changes },
});
const data = (changes: Partial<OtpRow> = {}): OtpRow => otp({ action: 'SAD', signatures: 3, client: 'c', ends_at: now + 500, ...changes });
const put = async (row: OtpRow, at = now): Promise<OtpRow> => {
  await opened.store.run('putOtp', { otp: row, now: at });
  return row;
};
const otps = (): readonly string[] => opened.rows('select otp_id from otps order by rowid').map((row) => String(row['otp_id']));
const otpRow = ({ otp_id: id }: OtpRow): unknown => opened.rows('select attempts_left, reserved_until from otps where otp_id = ?', id)[0];
const reserve = async (changes: Partial<UseReservation> = {}): Promise<unknown> =>
  opened.store.run('reserveUse', { reference, rule, states, atOnce: 5, until, ...changes });
const settle = async (changes: Partial<UseSettlement> = {}): Promise<unknown> =>
  opened.store.run('settleUse', { reference, rule, reserved: true, verdict: 'right', ...changes });
const key = (of = reference): Record<string, unknown> => opened.rows('select * from keys where reference = ?', of)[0] ?? {};
const lost = { code: 'USE_LOST' };

describe('a one-time password', () => {
  it('replaces the one of the same key and action, and no other; activation data replaces nothing', async () => {
    const elsewhere = await storedKey(opened.store);
    const kept = [await put(otp({ action: 'REVOKE' })), await put(otp({ reference: elsewhere })), await put(data())];
    await put(otp());
    const last = [await put(otp()), await put(data())];
    expect(otps()).toEqual([...kept, ...last].map(({ otp_id: id }) => id));
  });

  it('is deleted when it has expired, of any key, and not before', async () => {
    const elsewhere = await storedKey(opened.store);
    await put(otp({ reference: elsewhere, expires_at: now + 10 }));
    const open = await put(otp({ reference: elsewhere, action: 'REVOKE', expires_at: now + 11 }));
    const last = await put(otp(), now + 10);
    expect(otps()).toEqual([open.otp_id, last.otp_id]);
  });

  it('is reserved for one attempt at a time, which is counted, until it expires or has no attempt left', async () => {
    const row = await put(otp());
    const wanted = { action: 'SIGN' };
    expect(await reserve({ otp: wanted })).toMatchObject({ otp: { otp_id: row.otp_id, attempts_left: 1 } });
    expect(otpRow(row)).toEqual({ attempts_left: 1, reserved_until: until });
    expect(await reserve({ otp: wanted, rule: { ...rule, now: until - 1 } })).toBeUndefined();
    expect(key()).toMatchObject({ reserved: 1 });
    // The reservation of an instance that died is over.
    expect(await reserve({ otp: wanted, rule: { ...rule, now: until }, until: now + 90 })).toMatchObject({ otp: { attempts_left: 0 } });
    expect(await reserve({ otp: wanted, rule: { ...rule, now: now + 90 } })).toEqual({ otp: undefined });
    const second = await put(otp());
    expect(await reserve({ otp: wanted, rule: { ...rule, now: now + 100 } })).toEqual({ otp: undefined });
    expect(await reserve({ otp: wanted, rule: { ...rule, now: now + 99 } })).toMatchObject({ otp: { otp_id: second.otp_id } });
  });

  it('is that of the action and the key', async () => {
    const elsewhere = await storedKey(opened.store);
    await put(otp({ reference: elsewhere }));
    await put(otp({ action: 'REVOKE' }));
    expect(await reserve({ otp: { action: 'SIGN' } })).toEqual({ otp: undefined });
  });

  it('of activation data is that of the identifier, the actions, the client and the key', async () => {
    const row = await put(data());
    const wanted = { otpId: row.otp_id, actions: ['SAD', 'SAD_REST'], client: 'c' };
    for (const other of [{ otpId: randomUUID() }, { actions: ['SAD_REST'] }, { client: 'd' }])
      expect(await reserve({ otp: { ...wanted, ...other } })).toBe('no data');
    expect(await reserve({ reference: await storedKey(opened.store), otp: wanted })).toBe('no data');
    // Nothing was counted for what is not there.
    expect(key()).toMatchObject({ reserved: 0 });
    expect(await reserve({ otp: wanted })).toMatchObject({ otp: { otp_id: row.otp_id } });
  });

  it('has its attempt back if the key allows none', async () => {
    const row = await put(otp());
    expect(await reserve({ otp: { action: 'SIGN' }, states: ['ON_HOLD'] })).toBeUndefined();
    expect(otpRow(row)).toEqual({ attempts_left: 2, reserved_until: null });
  });

  it('ends with its use, and is used once: a second use changes nothing', async () => {
    const row = await put(otp());
    const used = { otp: { otpId: row.otp_id, fate: 'used' as const } };
    await settle(used);
    expect(otps()).toEqual([]);
    for (const verdict of ['right', 'wrong', 'fault'] as const) await expect(settle({ ...used, verdict })).rejects.toMatchObject(lost);
    expect(key()).toMatchObject({ failures_in_row: 0, state: 'ACTIVE' });
  });

  it('ends with its last failed attempt, and is free again after the others', async () => {
    const row = await put(otp());
    const failed = { verdict: 'wrong' as const, otp: { otpId: row.otp_id, fate: 'failed' as const } };
    await reserve({ otp: { action: 'SIGN' } });
    await settle(failed);
    expect(otpRow(row)).toEqual({ attempts_left: 1, reserved_until: null });
    await reserve({ otp: { action: 'SIGN' } });
    await settle(failed);
    expect(otps()).toEqual([]);
  });

  it('has its attempt back if another secret was given', async () => {
    const [row, other] = [await put(otp()), await put(otp({ action: 'REVOKE' }))];
    await reserve({ otp: { action: 'SIGN' } });
    await settle({ otp: { otpId: row.otp_id, fate: 'kept' } });
    expect([otpRow(row), otpRow(other)]).toEqual([
      { attempts_left: 2, reserved_until: null },
      { attempts_left: 2, reserved_until: null },
    ]);
  });
});

it('open activation data are counted by key and client', async () => {
  await put(data());
  await put(data({ expires_at: now + 50 }));
  await put(data({ client: 'd' }));
  await put(data({ reference: await storedKey(opened.store) }));
  await put(otp());
  const count = async (at: number): Promise<number> => opened.store.run('countOpenData', { reference, client: 'c', now: at });
  expect([await count(now + 49), await count(now + 50), await count(now + 100)]).toEqual([2, 1, 0]);
});

describe('an attempt', () => {
  it('is reserved of a key in use alone, as many at once as it may, and up to those that lock it', async () => {
    expect(await reserve({ states: ['ON_HOLD', 'REVOKED'] })).toBeUndefined();
    expect(await reserve({ reference: '0'.repeat(40) })).toBeUndefined();
    for (const isThere of [true, true, false]) expect((await reserve({ atOnce: 2 })) !== undefined).toBe(isThere);
    const failed = await storedKey(opened.store, { failures_in_row: 3 });
    for (const isThere of [true, true, false]) expect((await reserve({ reference: failed })) !== undefined).toBe(isThere);
    expect(await reserve({ reference: await storedKey(opened.store, { failures_in_row: 5 }) })).toBeUndefined();
    const often = await storedKey(opened.store, { failures_since_success: 18 });
    for (const isThere of [true, true, false]) expect((await reserve({ reference: often })) !== undefined).toBe(isThere);
  });

  it('is reserved again when the lock ends, with all attempts in a row', async () => {
    const locked = await storedKey(opened.store, { failures_in_row: 5, failures_since_success: 5, locked_until: now + 1 });
    expect(await reserve({ reference: locked })).toBeUndefined();
    const after = { ...rule, now: now + 1 };
    for (let attempt = 0; attempt < 5; attempt += 1) expect(await reserve({ reference: locked, rule: after, atOnce: 9 })).toBeDefined();
    expect(await reserve({ reference: locked, rule: after, atOnce: 9 })).toBeUndefined();
  });

  it('that is lost with its instance counts no longer', async () => {
    for (let attempt = 0; attempt < 5; attempt += 1) await reserve();
    expect(await reserve({ rule: { ...rule, now: until - 1 } })).toBeUndefined();
    expect(await reserve({ rule: { ...rule, now: until } })).toBeDefined();
    expect(key()).toMatchObject({ reserved: 1 });
  });

  it('is given back by whatever settles it, if it was reserved, and never below none', async () => {
    const reserved = (): unknown => key()['reserved'];
    for (const verdict of ['right', 'wrong', 'fault'] as const) {
      reference = await storedKey(opened.store);
      await reserve();
      await reserve();
      await settle({ verdict, reserved: false });
      expect(reserved()).toBe(2);
      await settle({ verdict });
      await settle({ verdict });
      expect(reserved()).toBe(0);
      await settle({ verdict });
      expect(reserved()).toBe(0);
    }
  });

  it('that was wrong locks the key at the fifth in a row, and an operator has to unlock it at the twentieth', async () => {
    const wrong = async (of: string, at = rule): Promise<unknown> => settle({ reference: of, verdict: 'wrong', rule: at, reserved: false });
    const near = await storedKey(opened.store, { failures_in_row: 3, failures_since_success: 18 });
    expect(await wrong(near)).toEqual({ failures_in_row: 4, failures_since_success: 19, locked_until: null });
    expect(await wrong(near)).toEqual({ failures_in_row: 5, failures_since_success: 20, locked_until: now + 900 });
    expect(await wrong(near, { ...rule, now: now + 900 })).toEqual({ failures_in_row: 1, failures_since_success: 21, locked_until: null });
    expect(await reserve({ reference: near, rule: { ...rule, now: now + 900 } })).toBeUndefined();
    expect(await opened.store.run('unlockKey', { reference: near })).toEqual({
      ...{ failures_in_row: 0, failures_since_success: 0, locked_until: null },
    });
    expect(await reserve({ reference: near })).toBeDefined();
    expect(await opened.store.run('unlockKey', { reference: '0'.repeat(40) })).toBeUndefined();
  });

  it('that was right lets no locked key begin anew', async () => {
    const locked = { failures_in_row: 5, failures_since_success: 5, locked_until: now + 1 };
    const one = await storedKey(opened.store, locked);
    expect(await settle({ reference: one })).toEqual(locked);
    const often = { failures_in_row: 1, failures_since_success: 20, locked_until: null };
    const two = await storedKey(opened.store, often);
    expect(await settle({ reference: two })).toEqual(often);
    const anew = { failures_in_row: 0, failures_since_success: 0, locked_until: null };
    expect(await settle({ reference: one, rule: { ...rule, now: now + 1 } })).toEqual(anew);
    const three = await storedKey(opened.store, { failures_in_row: 4, failures_since_success: 19 });
    expect(await settle({ reference: three })).toEqual(anew);
  });

  it('that was right counts while the key has this state and this secret, and is not locked', async () => {
    const held = { states, mac };
    expect(await settle({ holding: held })).toBeDefined();
    expect(await settle({ holding: { states, mac: undefined } })).toBeDefined();
    await expect(settle({ holding: { states: ['ON_HOLD'], mac } })).rejects.toMatchObject(lost);
    await expect(settle({ holding: { states, mac: new Uint8Array(32).fill(1) } })).rejects.toMatchObject(lost);
    const locked = await storedKey(opened.store, { locked_until: now + 1 });
    await expect(settle({ reference: locked, holding: held })).rejects.toMatchObject(lost);
    expect(await settle({ reference: locked, holding: held, rule: { ...rule, now: now + 1 } })).toBeDefined();
    const often = await storedKey(opened.store, { failures_since_success: 20 });
    await expect(settle({ reference: often, holding: held })).rejects.toMatchObject(lost);
  });
});

describe('a change with an attempt', () => {
  const password = {
    ...{ kind: 'password' as const, from: states, replaces: mac, salt: Uint8Array.of(9), mac: Uint8Array.of(8), stretched: 1 },
    seal: { seal_salt: Uint8Array.of(7), seal_mac: Uint8Array.of(6) },
  };

  it('of the password replaces the one that was right, and ends what that has authorised', async () => {
    const elsewhere = await storedKey(opened.store);
    const kept = [await put(data({ reference: elsewhere })), await put(otp())];
    await put(data());
    await settle({ change: password });
    expect(otps()).toEqual(kept.map(({ otp_id: id }) => id));
    expect(key()).toMatchObject({
      ...{ secret_salt: Uint8Array.of(9), secret_mac: Uint8Array.of(8), secret_stretched: 1 },
      ...{ seal_salt: Uint8Array.of(7), seal_mac: Uint8Array.of(6) },
    });
    expect(key(elsewhere)).toMatchObject({ secret_mac: mac });
  });

  it('is lost where the secret or the state is another by then, and the attempt is not counted', async () => {
    const changes = [
      { ...password, replaces: Uint8Array.of(1) },
      { ...password, from: ['ON_HOLD'] },
      { kind: 'end', to: 'REMOVED', from: ['ON_HOLD'] },
    ] as const;
    await opened.store.run('settleUse', { reference, rule, reserved: false, verdict: 'wrong' });
    for (const change of changes) await expect(settle({ change })).rejects.toMatchObject(lost);
    expect(key()).toMatchObject({ failures_in_row: 1, state: 'ACTIVE', secret_mac: mac });
  });

  it('ends the key, and announces that its private key is to be destroyed', async () => {
    await settle({ change: { kind: 'end', to: 'CONSUMED', from: states } });
    expect(key()).toMatchObject({ state: 'CONSUMED' });
    const announced = opened.rows('select intent, created_at from key_journal where key_id = ?', String(key()['key_id']));
    expect(announced).toEqual([{ intent: 'DESTROY', created_at: now }]);
  });

  it('ends no key of an identity', async () => {
    const row = identityRow();
    await opened.store.run('announce', { key_id: row.key_id, intent: 'CREATE', created_at: now });
    await opened.store.run('insertIdentityKey', row);
    const change = { kind: 'end', to: 'REMOVED', from: states } as const;
    await expect(settle({ reference: row.reference, table: 'identity_keys', change })).rejects.toThrow('only operators end');
    expect(await opened.store.run('findIdentityKey', row)).toBeDefined();
  });
});

it('reservations of the only process end with it', async () => {
  await reserve();
  const row = await put(otp({ reserved_until: until }));
  const other = await storedKey(opened.store);
  await opened.store.run('endReservations');
  expect(key()).toMatchObject({ reserved: 0, reserved_until: null });
  expect(key(other)).toMatchObject({ reserved: 0 });
  expect(otpRow(row)).toEqual({ attempts_left: 2, reserved_until: null });
});
