import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import { Fault } from '../../src/faults.ts';
import type { GivenSecret } from '../../src/keys/credentials.ts';
import type { KeyRecord } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import { StoreUnavailable } from '../../src/state/store-unavailable.ts';
import type { TokenClient } from '../../src/token/client/token-client.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { FailingStore } from '../support/failing-store.ts';
import { tokenAndStore, type TokenAndStore } from '../support/token-and-store.ts';

const tenant = tenantId('demo');
const toBeSigned = { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, digests: [new Uint8Array(32)], documents: [] } as const;
const digests = [{ id: 'd', hash: 'sha256', value: new Uint8Array(32) }] as const;
const given = (password: string | undefined): GivenSecret => ({
  member: 'password',
  bytes: Buffer.from(password ?? ''),
  transactionId: undefined,
});
const wrong = given('wrong');
const away = (): Error => new StoreUnavailable('away');

let around: TokenAndStore;
let token: TokenClient;
let store: FailingStore;
let keys: Keyring;

beforeAll(async () => {
  around = await tokenAndStore();
  ({ token } = around);
  store = new FailingStore(around.store, 'settleUse');
  keys = new Keyring(store, token);
});

afterAll(async () => {
  await around.end();
});

async function newKey(): Promise<KeyRecord> {
  const request = { tenant, type: 'P-256', protocol: 'OTP', subscriber: {} } as const;
  const { reference } = await keys.create({ ...request, issue: async () => Promise.resolve({ row: certificateRow() }) });
  return keys.find(tenant, reference);
}

const otpOf = async (key: KeyRecord): Promise<GivenSecret> => given(await keys.makeOtp(key, { action: 'SIGN', digests }));
const sign = async (key: KeyRecord, otp: GivenSecret): Promise<number> =>
  (await keys.sign(key, otp, toBeSigned, async (values) => Promise.resolve(values))).length;
const row = async ({ reference }: KeyRecord) => store.run('findKey', reference);

describe('an attempt whose settlement cannot be committed', () => {
  it('with a right one-time password gives it back at once', async () => {
    const key = await newKey();
    const otp = await otpOf(key);
    for (let attempt = 0; attempt < 4; attempt += 1) {
      store.failNext(away());
      await expect(sign(key, otp)).rejects.toThrow('away');
      expect(await row(key)).toMatchObject({ reserved: 0, failures_in_row: 0 });
    }
    expect(await sign(key, otp)).toBe(1);
  });

  it('gives it back as soon as the store answers again', async () => {
    const key = await newKey();
    const otp = await otpOf(key);
    store.failNext(away(), away(), away());
    await expect(sign(key, otp)).rejects.toThrow('away');
    expect(await row(key)).toMatchObject({ reserved: 1 });
    await expect.poll(async () => row(key), { timeout: 10_000 }).toMatchObject({ reserved: 0 });
    expect(await sign(key, otp)).toBe(1);
  });

  it('with a wrong secret is counted as soon as the store answers', async () => {
    const key = await newKey();
    await otpOf(key);
    store.failNext(away(), away());
    await expect(keys.verifySecret(key, wrong)).rejects.toThrow('away');
    expect(await row(key)).toMatchObject({ reserved: 1, failures_in_row: 0 });
    await expect.poll(async () => (await row(key))?.failures_in_row, { timeout: 10_000 }).toBe(1);
    expect(await row(key)).toMatchObject({ reserved: 0 });
    expect(key.failuresInRow).toBe(1);
  });

  it('with a wrong secret is not counted where another has the request, and counts it', async () => {
    const key = await newKey();
    store.failNext(new Fault('CLAIM_LOST'));
    await expect(keys.verifySecret(key, wrong)).rejects.toMatchObject({ code: 'CLAIM_LOST' });
    expect(await row(key)).toMatchObject({ reserved: 0, failures_in_row: 0 });
  });

  it('is left to its time where it may be settled all the same', async () => {
    const key = await newKey();
    const otp = await otpOf(key);
    store.failNext(new StoreUnavailable('away', { code: 'COMMIT_UNKNOWN' }));
    await expect(sign(key, otp)).rejects.toMatchObject({ code: 'COMMIT_UNKNOWN' });
    expect(await row(key)).toMatchObject({ reserved: 1 });
  });
});
