import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import { Activation } from '../../src/keys/activation.ts';
import type { GivenSecret } from '../../src/keys/credentials.ts';
import { resultOf } from '../../src/http/api/answer.ts';
import { AttemptSlots, KeyInUse } from '../../src/keys/attempt-slots.ts';
import type { KeyRecord } from '../../src/keys/key-record.ts';
import { stateOf } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import type { KeyringOptions } from '../../src/keys/keyring-options.ts';
import { KnownSecrets } from '../../src/keys/known-secrets.ts';
import { LongSecrets } from '../../src/keys/long-secrets.ts';
import { verifyReserved } from '../../src/keys/reserved.ts';
import { Seals } from '../../src/keys/seals.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openSqliteStore } from '../../src/state/threaded-store.ts';
import type { TokenClient } from '../../src/token/client/token-client.ts';
import { TokenUnavailable, type Proofs, type Token } from '../../src/token/token.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { recordingLog } from '../support/silent-log.ts';
import { tokenAndStore, type TokenAndStore } from '../support/token-and-store.ts';
import { tokenWith } from '../support/token-with.ts';

const tenant = tenantId('demo');
const toBeSigned = { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, digests: [new Uint8Array(32)], documents: [] } as const;
const never = async (): Promise<never> => new Promise<never>(() => undefined);

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

/** A service of its own, as a restart makes one; its token may fail. */
const keyring = (changes: Partial<Token> = {}, options: KeyringOptions = {}): Keyring =>
  new Keyring(store, tokenWith(token, changes), options);
const isSeal = ({ anyOf }: Proofs): boolean => anyOf.some(({ kind }) => kind === 'RECORD');
/** Compares no secret; the seals of rows are still checked. */
const hungAtSecrets: Partial<Token> = {
  verifyProof: async (id, proofs) => (isSeal(proofs) ? token.verifyProof(id, proofs) : never()),
};
const given = (member: GivenSecret['member'], secret: string | undefined): GivenSecret => ({
  member,
  bytes: Buffer.from(secret ?? ''),
  transactionId: undefined,
});

async function newKey(keys: Keyring, protocol: 'PASSWORD' | 'OTP' | 'SINGLE_USE'): Promise<{ key: KeyRecord; own: GivenSecret }> {
  const { reference, secret } = await keys.create({
    tenant,
    type: 'P-256',
    protocol,
    subscriber: {},
    issue: async () => Promise.resolve({ row: certificateRow() }),
  });
  const own = protocol === 'SINGLE_USE' ? given('authToken', secret.authToken) : given('password', secret.password);
  return { key: await keys.find(tenant, reference), own };
}

const sign = async (keys: Keyring, key: KeyRecord, own: GivenSecret): Promise<number> =>
  (await keys.sign(key, own, toBeSigned, async (values) => Promise.resolve(values))).length;
const isOnToken = async ({ id }: KeyRecord): Promise<boolean> => (await token.listKeys()).some((key) => key.id === id);

describe('a single-use key', () => {
  it('whose destruction a kill prevented is consumed, and gone after the next start', async () => {
    const killed = keyring({ destroyKey: never });
    const { key, own } = await newKey(killed, 'SINGLE_USE');
    void sign(killed, key, own);
    await expect.poll(async () => (await store.run('findKey', key.reference))?.state).toBe('CONSUMED');
    expect(await isOnToken(key)).toBe(true);
    const next = keyring();
    await next.recover();
    expect(await isOnToken(key)).toBe(false);
    await expect(sign(next, await next.find(tenant, key.reference), own)).rejects.toMatchObject({ code: 'KEY_STATE' });
  });

  it('whose signature a kill kept from leaving makes its one signature after the next start', async () => {
    const killed = keyring();
    const { key, own } = await newKey(killed, 'SINGLE_USE');
    const { promise: signed, resolve } = Promise.withResolvers<undefined>();
    void killed.sign(key, own, toBeSigned, async () => {
      resolve(undefined);
      return never();
    });
    await signed;
    const next = keyring();
    await next.recover();
    const record = await next.find(tenant, key.reference);
    expect(await sign(next, record, own)).toBe(1);
    await expect(sign(next, record, own)).rejects.toMatchObject({ code: 'KEY_STATE' });
    expect(await isOnToken(key)).toBe(false);
  });

  it('is not consumed by a signature that fails afterwards', async () => {
    const keys = keyring();
    const { key, own } = await newKey(keys, 'SINGLE_USE');
    await expect(keys.sign(key, own, toBeSigned, async () => Promise.reject(new Error('no time-stamp')))).rejects.toThrow('no time-stamp');
    expect(stateOf(key, Date.now())).toBe('ACTIVE');
    expect(await sign(keys, key, own)).toBe(1);
  });
});

describe('a one-time password', () => {
  const digests = [{ id: 'd', hash: 'sha256', value: new Uint8Array(32) }] as const;

  it('is given back by a signature that fails afterwards, and used up by one that does not', async () => {
    const keys = keyring();
    const { key } = await newKey(keys, 'OTP');
    const otp = given('password', await keys.makeOtp(key, { action: 'SIGN', digests }));
    for (let attempt = 0; attempt < 5; attempt += 1) {
      await expect(keys.sign(key, otp, toBeSigned, async () => Promise.reject(new Error('no time-stamp')))).rejects.toThrow();
    }
    expect(await sign(keys, key, otp)).toBe(1);
    await expect(sign(keys, key, otp)).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
  });

  it('is used up where it is right and allows no such document', async () => {
    const keys = keyring();
    const { key } = await newKey(keys, 'OTP');
    const otp = given('password', await keys.makeOtp(key, { action: 'SIGN', digests }));
    const content = Buffer.from('another document');
    const documents = [{ id: 'd', fileName: undefined, source: { content } }];
    const another = keys.sign(key, otp, { ...toBeSigned, documents }, async (values) => Promise.resolve(values));
    await expect(another).rejects.toMatchObject({ code: 'DIGEST_NOT_AUTHORISED' });
    await expect(sign(keys, key, otp)).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
  });

  it('waits for attempts that are on their way, and is not refused for them', async () => {
    const keys = keyring();
    const { key } = await newKey(keys, 'OTP');
    const otp = given('password', await keys.makeOtp(key, { action: 'SIGN', digests }));
    const wrong = Array.from({ length: 2 }, async (_, n) => sign(keys, key, given('password', `wrong ${n}`)));
    const codes = (await Promise.allSettled(wrong)).map((one) => (one.status === 'rejected' ? (one.reason as { code?: string }).code : 0));
    expect(codes).toEqual(['ACTIVATION_FAILED', 'ACTIVATION_FAILED']);
    expect(await sign(keys, key, otp)).toBe(1);
  });

  it('goes to the owner where it is delivered; where nobody takes it, the one before it stays good', async () => {
    const keys = keyring();
    const { key } = await newKey(keys, 'OTP');
    const texts: string[] = [];
    const take = async (_to: object, text: string): Promise<void> => {
      texts.push(text);
      return Promise.resolve();
    };
    expect(await keys.makeOtp(key, { action: 'SIGN', digests, deliver: take })).toBeUndefined();
    const refuse = async (_to: object, text: string): Promise<void> => {
      texts.push(text);
      return Promise.reject(new Error('no gateway'));
    };
    await expect(keys.makeOtp(key, { action: 'SIGN', digests, deliver: refuse })).rejects.toThrow('no gateway');
    await expect(sign(keys, key, given('password', texts[1]))).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
    expect(await sign(keys, key, given('password', texts[0]))).toBe(1);
    await keys.makeOtp(key, { action: 'SIGN', digests, deliver: take });
    await keys.makeOtp(key, { action: 'SIGN', digests, deliver: take });
    await expect(sign(keys, key, given('password', texts[2]))).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
    expect(await sign(keys, key, given('password', texts[3]))).toBe(1);
  });

  it('counts an attempt that a kill cut short', async () => {
    const killed = keyring(hungAtSecrets);
    const { key } = await newKey(killed, 'OTP');
    await killed.makeOtp(key, { action: 'SIGN', digests });
    const left = async (): Promise<number | undefined> => {
      // What the reservation answers, given back at once.
      const rule = { failuresInRow: 5, lockMs: 1, failuresSinceSuccess: 20, now: Date.now() };
      const reserved = await store.run('reserveUse', {
        reference: key.reference,
        rule,
        until: rule.now + 1000,
        states: ['ACTIVE'],
        atOnce: 5,
        otp: { action: 'SIGN' },
      });
      const otp = reserved === 'no data' ? undefined : reserved?.otp;
      if (otp === undefined) return undefined;
      await store.run('settleUse', {
        reference: key.reference,
        rule,
        reserved: true,
        verdict: 'fault',
        otp: { otpId: otp.otp_id, fate: 'kept' },
      });
      return otp.attempts_left;
    };
    expect(await left()).toBe(2);
    void killed.verifySecret(key, given('password', 'wrong'));
    await expect.poll(left).toBeUndefined();
    await keyring().recover();
    expect(await left()).toBe(1);
  });
});

/** A service whose token says what it is asked about secrets: whether each candidate is the seal of a record. */
function listening(): { readonly keys: Keyring; readonly asked: string[] } {
  const asked: string[] = [];
  const told = (name: string, { anyOf }: Proofs): void => void asked.push([name, ...anyOf.map(({ kind }) => kind === 'RECORD')].join(' '));
  const whole = tokenWith(token, {
    async signWithProof(id, algorithm, digests, proofs) {
      told('sign', proofs);
      return token.signWithProof(id, algorithm, digests, proofs);
    },
    async verifyProof(id, proofs) {
      told('verify', proofs);
      return token.verifyProof(id, proofs);
    },
  });
  return { keys: new Keyring(store, whole), asked };
}

describe('a wrong secret', () => {
  it('asks the same of the token whether a one-time password is open or not, so that the time does not tell', async () => {
    const { keys, asked } = listening();
    const seen: string[][] = [];
    for (const protocol of ['PASSWORD', 'OTP'] as const) {
      for (const isOpen of [false, true]) {
        const { key } = await newKey(keys, protocol);
        if (isOpen) await keys.makeOtp(key, { action: 'SIGN', digests: [] });
        asked.length = 0;
        await expect(sign(keys, key, given('password', 'wrong'))).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
        seen.push([...asked]);
      }
    }
    const [password, passwordBesideOtp, none, otp] = seen;
    expect(password).toEqual(['sign false false', 'verify true']);
    expect(passwordBesideOtp).toEqual(password);
    expect(none).toEqual(['sign false', 'verify true']);
    expect(otp).toEqual(none);
  });

  it('changes no password: nothing is made of the new one, and the old one is still right', async () => {
    const { keys, asked } = listening();
    const { key, own } = await newKey(keys, 'PASSWORD');
    asked.length = 0;
    await expect(keys.changePassword(key, given('password', 'wrong'), 'another password')).rejects.toMatchObject({
      code: 'ACTIVATION_FAILED',
    });
    expect(asked).toEqual(['verify false false', 'verify true']);
    expect(await sign(keys, key, own)).toBe(1);
  });

  it('is compared once, and counted, where it is the password of before', async () => {
    const { keys, asked } = listening();
    const { key, own } = await newKey(keys, 'PASSWORD');
    await sign(keys, key, own);
    await keys.changePassword(key, own, 'another password');
    asked.length = 0;
    await expect(sign(keys, key, own)).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
    expect(asked).toEqual(['sign false false', 'verify true']);
    expect((await store.run('findKey', key.reference))?.failures_in_row).toBe(1);
  });

  it('that was right until another instance changed it is compared without a reservation once, and no more', async () => {
    const { key, own } = await newKey(keyring(), 'PASSWORD');
    const log = recordingLog();
    const nothing = async (): Promise<void> => Promise.resolve();
    const parts = {
      ...{ store, cache: { reread: nothing, isUpToDate: () => false, bringUpToDate: nothing }, seals: new Seals(token, log) },
      ...{ slots: new AttemptSlots(() => store.now()), known: new KnownSecrets(), long: new LongSecrets(), pace: undefined },
    };
    const activation = new Activation(parts, { attemptMaxMs: 60_000, waitMs: 1000 });
    let compared = 0;
    const attempt = async (record: KeyRecord): Promise<boolean> => {
      const asked = { use: 'check', action: 'SIGN', given: own } as const;
      const { verified } = await activation.attempt(record, asked, async (reserved) => {
        compared += 1;
        const outcome = await verifyReserved(token, reserved);
        return outcome.verified ? { ...outcome, usesUp: false } : outcome;
      });
      return verified;
    };
    expect(await attempt(key)).toBe(true);
    await keyring().changePassword(key, own, 'another password');
    // The record had left the memory meanwhile, and is read with the other secret.
    const changed = await keyring().find(tenant, key.reference);
    compared = 0;
    expect(await attempt(changed)).toBe(false);
    expect(compared).toBe(2);
    expect(await attempt(changed)).toBe(false);
    expect(compared).toBe(3);
    expect((await store.run('findKey', key.reference))?.failures_in_row).toBe(2);
  });
});

describe('an old copy of the state store', () => {
  it('revives no key that was consumed or removed since, and revives an old password', async () => {
    const path = join(around.directory, 'restored.sqlite');
    const before = await openSqliteStore(path);
    const first = new Keyring(before, token);
    const made = await Promise.all([newKey(first, 'SINGLE_USE'), newKey(first, 'PASSWORD'), newKey(first, 'PASSWORD')]);
    await before.close();
    copyFileSync(path, `${path}.yesterday`);

    const today = await openSqliteStore(path);
    const keys = new Keyring(today, token);
    const [consumed, removed, changed] = await Promise.all(made.map(async ({ key }) => keys.find(tenant, key.reference)));
    if (consumed === undefined || removed === undefined || changed === undefined) throw new Error('three keys were made');
    await sign(keys, consumed, made[0].own);
    await keys.remove(removed, made[1].own);
    await keys.changePassword(changed, made[2].own, 'another password');
    await expect(sign(keys, changed, made[2].own)).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
    await today.close();

    const copy = await openSqliteStore(`${path}.yesterday`);
    const restored = new Keyring(copy, token);
    const outcomes = await Promise.allSettled(
      made.map(async ({ key, own }) => sign(restored, await restored.find(tenant, key.reference), own)),
    );
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    await copy.close();
  });
});

describe('a token that does not answer', () => {
  it('keeps nobody waiting for longer than the time that attempts are given', async () => {
    const hung = keyring(hungAtSecrets, { attemptWaitMs: 100 });
    const { key } = await newKey(hung, 'PASSWORD');
    const inFlight = Array.from({ length: 5 }, async () => hung.verifySecret(key, given('password', 'wrong')));
    const outcomes = await Promise.allSettled(Array.from({ length: 3 }, async () => hung.verifySecret(key, given('password', 'late'))));
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason instanceof KeyInUse)).toEqual([true, true, true]);
    // The token may be well: another request may wait for its time-stamp.
    const [first] = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [resultOf(outcome.reason, 'sign', recordingLog())] : [],
    );
    expect(first).toMatchObject({ major: 2, minor: 291, message: expect.stringMatching(/^other requests that use this key/) as unknown });
    void Promise.allSettled(inFlight);
  });

  it('lets a key be removed: its private key goes when the token is back', async () => {
    let isAway = true;
    const keys = keyring({
      destroyKey: async (id) => (isAway ? Promise.reject(new TokenUnavailable('away')) : token.destroyKey(id)),
    });
    const { key, own } = await newKey(keys, 'PASSWORD');
    await keys.remove(key, own);
    expect([stateOf(key, Date.now()), await isOnToken(key)]).toEqual(['REMOVED', true]);
    isAway = false;
    await expect.poll(async () => isOnToken(key), { timeout: 10_000 }).toBe(false);
    await expect.poll(async () => store.run('journal'), { timeout: 10_000 }).toEqual([]);
  });
});
