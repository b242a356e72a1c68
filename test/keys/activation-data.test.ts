import { randomBytes, randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { activationDataLife } from '../../src/keys/activation-data.ts';
import { StateConfig } from '../../src/config/state-config.ts';
import { bindingText } from '../../src/keys/digest-binding.ts';
import { otpScope, sealOtp } from '../../src/keys/seals.ts';
import { tokenAndStore, type TokenAndStore } from '../support/token-and-store.ts';
import { changeRows, client, clients, DataHolder, digestOf, tenant } from './data-holders.ts';

const refused = { code: 'ACTIVATION_FAILED' };
const expired = { code: 'ACTIVATION_FAILED', at: '/SAD', text: 'the activation data has expired' };
const tooMany = { code: 'DIGEST_NOT_AUTHORISED', text: 'more signatures than the activation data authorises' };
const [one, two] = [digestOf(1), digestOf(2)];

let around: TokenAndStore;
let holder: DataHolder;
let config: StateConfig;

beforeAll(async () => {
  around = await tokenAndStore();
  holder = new DataHolder(around.store, around.token);
  config = StateConfig.parse({ path: join(around.directory, 'state.sqlite') });
});
afterAll(async () => {
  await around.end();
});

describe('activation data', () => {
  it('ends in five minutes, and all that it is exchanged for in thirty', async () => {
    const key = await holder.newKey();
    const { store } = holder;
    try {
      const first = await holder.authorise(key, [one], 9);
      const end = store.now() + activationDataLife.transactionMs;
      let text = first;
      for (let minutes = 4; minutes < 30; minutes += 4) {
        store.laterMs = minutes * 60_000;
        const { text: next, expiresAt } = await holder.extend(key, text, [two]);
        expect(expiresAt).toBeLessThanOrEqual(end);
        text = next;
      }
      store.laterMs = activationDataLife.transactionMs + 1000;
      await expect(holder.extend(key, text, [two])).rejects.toMatchObject(expired);
      await expect(holder.sign(key, text, [two])).rejects.toMatchObject(expired);
      // The time in the text is only what its client says.
      const longer = Buffer.from(text, 'base64url');
      longer.writeUIntBE(store.now() + 60_000, 16, 6);
      await expect(holder.sign(key, longer.toString('base64url'), [two])).rejects.toMatchObject(refused);
      expect(await holder.failures(key)).toBe(0);
    } finally {
      store.laterMs = 0;
    }
  });

  it('counts each signature of a call', async () => {
    const key = await holder.newKey();
    const text = await holder.authorise(key, [one, two], 3);
    expect(await holder.sign(key, text, [one, two])).toBe(2);
    const last = await holder.extend(key, text, [one]);
    await expect(holder.sign(key, last.text, [one, one])).rejects.toMatchObject(tooMany);
    const again = await holder.authorise(key, [one, two], 3);
    expect(await holder.sign(key, again, [one, two])).toBe(2);
    await expect(holder.extend(key, again, [one, two])).rejects.toMatchObject(tooMany);
  });

  it.each([
    ['the client', `client = '${clients[1]}'`, clients[1]],
    ['the number of signatures', 'signatures = 1000', client],
    ['the end of its transaction', 'ends_at = ends_at + 86400000', client],
    ['its end', 'expires_at = expires_at + 1000', client],
  ])('is void once somebody has changed %s in its row, which the log tells', async (_what, set, by) => {
    for (const use of ['sign', 'extend'] as const) {
      const key = await holder.newKey();
      const text = await holder.authorise(key, [one], 2);
      await changeRows(config, `update otps set ${set} where reference = '${key.reference}'`);
      const told = holder.changesTold;
      await expect(holder[use](key, text, [one], by)).rejects.toMatchObject(refused);
      expect([holder.changesTold - told, await holder.failures(key)]).toEqual([1, 0]);
    }
  });

  it('does not outlive a change of the password, not even if its row comes back', async () => {
    for (const use of ['sign', 'extend'] as const) {
      const key = await holder.newKey();
      const text = await holder.authorise(key, [one], 2);
      await changeRows(config, `create table kept as select * from otps where reference = '${key.reference}'`);
      const record = await holder.keys.find(tenant, key.reference);
      await holder.keys.changePassword(record, { ...key.pin, member: 'password' }, 'another password');
      await expect(holder[use](key, text, [one])).rejects.toMatchObject(refused);
      await changeRows(config, 'insert into otps select * from kept; drop table kept');
      await expect(holder[use](key, text, [one])).rejects.toMatchObject(refused);
    }
  });

  it('that an earlier version opened signs once, and a guess at its secret counts for nothing of the key', async () => {
    const key = await holder.newKey();
    const record = await holder.keys.find(tenant, key.reference);
    const { token, store } = around;
    const [now, secret, otp_id] = [store.now(), randomBytes(32), randomUUID().replaceAll('-', '')];
    const facts = {
      action: 'SAD',
      bound_digests: bindingText([one]),
      signatures: 1,
      client,
      expires_at: now + 60_000,
      ends_at: now + 60_000,
    };
    const scope = otpScope(record.seal.scope, { otp_id, ...facts }, record.secret?.mac ?? null);
    const { salt, mac } = await token.makeMac(record.id, 'SAD', secret, scope);
    const seal = await sealOtp(token, record.id, scope, { salt, mac });
    const otp = { reference: key.reference, otp_id, ...facts, salt, mac, attempts_left: 3, reserved_until: null, ...seal };
    await store.run('putOtp', { otp, now });
    const time = Buffer.alloc(6);
    time.writeUIntBE(facts.expires_at, 0, 6);
    const text = (of: Uint8Array): string => Buffer.concat([Buffer.from(otp_id, 'hex'), time, of]).toString('base64url');
    for (let guess = 0; guess < 6; guess += 1) await expect(holder.sign(key, text(randomBytes(32)), [one])).rejects.toMatchObject(refused);
    expect(await holder.failures(key)).toBe(0);
    expect(await holder.sign(key, text(secret), [one])).toBe(1);
    await expect(holder.sign(key, text(secret), [one])).rejects.toMatchObject(refused);
  });
});
