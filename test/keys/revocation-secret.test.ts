import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Revocations } from '../../src/certificates/revocations.ts';
import { tenantId } from '../../src/clients/caller.ts';
import type { GivenSecret } from '../../src/keys/credentials.ts';
import type { KeyRecord } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { StoreUnavailable } from '../../src/state/store-unavailable.ts';
import type { TokenClient } from '../../src/token/client/token-client.ts';
import { DyingStore } from '../idempotency/dying-store.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { tokenAndStore, type TokenAndStore } from '../support/token-and-store.ts';

const tenant = tenantId('demo');
const nobody = { changed: () => undefined };
let around: TokenAndStore;
let token: TokenClient;
let store: StateStore;

beforeAll(async () => {
  around = await tokenAndStore();
  ({ token, store } = around);
});

afterAll(async () => {
  await around.end();
});

interface Case {
  readonly der: Uint8Array;
  readonly key: KeyRecord;
  /** A one-time password for REVOKE. */
  readonly otp: GivenSecret;
}

const keyring = (over: StateStore = store): Keyring => new Keyring(over, token);

async function newCase(): Promise<Case> {
  const keys = keyring();
  const row = certificateRow();
  const { reference } = await keys.create({
    ...{ tenant, type: 'P-256', protocol: 'OTP', subscriber: {} },
    issue: async () => Promise.resolve({ row }),
  });
  const key = await keys.find(tenant, reference);
  const text = (await keys.makeOtp(key, { action: 'REVOKE', digests: [] })) ?? '';
  return { der: row.der, key, otp: { member: 'password', bytes: Buffer.from(text), transactionId: undefined } };
}

/** What revokeCertificate does once it knows certificate and key. */
async function revoke(over: StateStore, { der, key, otp }: Case, meanwhile: () => Promise<unknown> = async () => Promise.resolve()) {
  const [revocations, keys] = [new Revocations(over, nobody), keyring(over)];
  const certificate = await revocations.find(tenant, der);
  const record = await keys.find(tenant, key.reference);
  return revocations.change(
    certificate,
    'KEY_COMPROMISE',
    (date) => ({ date: date.getTime() }),
    async (change) => {
      await meanwhile();
      await keys.revocation.authorise(record, otp, change);
    },
  );
}

const outcome = async ({ key, otp }: Case) => {
  const next = keyring();
  await next.recover();
  const record = await next.find(tenant, key.reference);
  const { state } = record;
  // removeKey takes the same one-time password.
  const isOtpGood = await next.remove(record, otp).then(
    () => true,
    () => false,
  );
  return { state, isOtpGood };
};

describe('the secret of revokeCertificate', () => {
  it('is used up with the revocation', async () => {
    const given = await newCase();
    await revoke(store, given);
    expect(await outcome(given)).toEqual({ state: 'REVOKED', isOtpGood: false });
  });

  it.each([
    ['is good still where a kill came before the revocation', 'before', { state: 'ACTIVE', isOtpGood: true }],
    ['is used up, and the certificate revoked, where a kill came after it', 'after', { state: 'REVOKED', isOtpGood: false }],
  ] as const)('%s', async (_name, moment, expected) => {
    const given = await newCase();
    await expect(revoke(new DyingStore(store, 'revoke', moment), given)).rejects.toThrow(StoreUnavailable);
    expect(await outcome(given)).toEqual(expected);
  });

  it('is given back at once where somebody else was faster', async () => {
    const given = await newCase();
    const faster = async (): Promise<unknown> => {
      const revocations = new Revocations(store, nobody);
      return revocations.change(await revocations.find(tenant, given.der), 'CERTIFICATE_HOLD', () => ({}));
    };
    await expect(revoke(store, given, faster)).rejects.toMatchObject({ code: 'CERTIFICATE_STATE' });
    // No recovery: it must not wait for a reservation to end.
    const keys = keyring();
    const record = await keys.find(tenant, given.key.reference);
    expect(record.state).toBe('ON_HOLD');
    await expect(keys.remove(record, given.otp)).resolves.toBeUndefined();
  });

  it('counts where it is wrong, and revokes nothing', async () => {
    const given = await newCase();
    const wrong = { ...given, otp: { ...given.otp, bytes: Buffer.from('wrong') } };
    await expect(revoke(store, wrong)).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
    expect((await store.run('findKey', given.key.reference))?.failures_in_row).toBe(1);
    expect(await outcome(given)).toEqual({ state: 'ACTIVE', isOtpGood: true });
  });

  it.each([
    ['right', 'T-1', 0],
    ['wrong', 'T-2', 1],
    ['lacking', undefined, 1],
  ] as const)('is not needed beside a transaction: a %s one', async (_name, transactionId, failures) => {
    const keys = keyring();
    const { reference } = await keys.create({
      ...{ tenant, type: 'P-256', protocol: 'OTP', transactionId: 'T-1', subscriber: {} },
      issue: async () => Promise.resolve({ row: certificateRow() }),
    });
    const record = await keys.find(tenant, reference);
    const authorised = keys.revocation.authoriseByTransaction(record, transactionId);
    if (failures === 0) await authorised;
    else await expect(authorised).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
    expect((await store.run('findKey', reference))?.failures_in_row).toBe(failures);
  });

  it('is not needed for a key that is tied to no transaction; one that is given all the same is wrong', async () => {
    const { key } = await newCase();
    await keyring().revocation.authoriseByTransaction(key, undefined);
    expect((await store.run('findKey', key.reference))?.failures_in_row).toBe(0);
    await expect(keyring().revocation.authoriseByTransaction(key, 'T-1')).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
    expect((await store.run('findKey', key.reference))?.failures_in_row).toBe(1);
  });

  it('revokes where it is a password that is known already: what needs no attempt counted is committed all the same', async () => {
    const keys = keyring();
    const row = certificateRow();
    const { reference, secret } = await keys.create({
      ...{ tenant, type: 'P-256', protocol: 'PASSWORD', subscriber: {} },
      issue: async () => Promise.resolve({ row }),
    });
    const record = await keys.find(tenant, reference);
    const password = { member: 'password', bytes: Buffer.from(secret.password ?? ''), transactionId: undefined } as const;
    for (const change of ['CERTIFICATE_HOLD', 'REMOVE_FROM_CRL', 'KEY_COMPROMISE'] as const) {
      const revocations = new Revocations(store, nobody);
      const certificate = await revocations.find(tenant, row.der);
      await revocations.change(
        certificate,
        change,
        (date) => ({ date: date.getTime() }),
        async (purpose) => keys.revocation.authorise(record, password, purpose),
      );
    }
    expect((await keyring().find(tenant, reference)).state).toBe('REVOKED');
  });
});
