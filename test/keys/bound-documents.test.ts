import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import type { InputDocument } from '../../src/documents/document.ts';
import type { GivenSecret } from '../../src/keys/credentials.ts';
import type { DigestBinding } from '../../src/keys/digest-binding.ts';
import type { KeyRecord } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { WorkThreads, type ThreadFunction } from '../../src/threads/work-threads.ts';
import type { TokenClient } from '../../src/token/client/token-client.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { tokenAndStore, type TokenAndStore } from '../support/token-and-store.ts';

const tenant = tenantId('demo');
const given = (password: string | undefined): GivenSecret => ({
  member: 'password',
  bytes: Buffer.from(password ?? ''),
  transactionId: undefined,
});
const content = new Uint8Array(new SharedArrayBuffer(1024 * 1024));
const document = (id: string): InputDocument => ({ id, fileName: undefined, source: { content } });
const bound = [{ id: 'd', hash: 'sha512', value: createHash('sha512').update(content).digest() }] as const;

let around: TokenAndStore;
let token: TokenClient;
let store: StateStore;
let keys: Keyring;
const threads = new WorkThreads();
/** Documents that were hashed in threads. */
let hashed = 0;

beforeAll(async () => {
  around = await tokenAndStore();
  ({ token, store } = around);
  const counting = {
    run: async <Result>(work: ThreadFunction, task: object): Promise<Result> => {
      hashed += 1;
      return threads.run<Result>(work, task);
    },
  };
  keys = new Keyring(store, token, { threads: counting });
});

afterAll(async () => {
  await around.end();
  await threads.stop();
});

async function newKey(binding: DigestBinding): Promise<{ key: KeyRecord; password: GivenSecret }> {
  const request = { tenant, type: 'P-256', protocol: 'PASSWORD', subscriber: {}, binding } as const;
  const { reference, secret } = await keys.create({ ...request, issue: async () => Promise.resolve({ row: certificateRow() }) });
  return { key: await keys.find(tenant, reference), password: given(secret.password) };
}

async function sign(key: KeyRecord, secret: GivenSecret, id = 'd'): Promise<number> {
  hashed = 0;
  const work = { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, digests: [new Uint8Array(32)], documents: [document(id)] } as const;
  return (await keys.sign(key, secret, work, async (values) => Promise.resolve(values))).length;
}

describe('a big document', () => {
  it('is hashed for a key that is bound once the secret is right, and for no other', async () => {
    const { key, password } = await newKey(bound);
    await expect(sign(key, given('wrong'))).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
    expect([hashed, key.failuresInRow]).toEqual([0, 1]);
    expect([await sign(key, password), hashed, key.failuresInRow]).toEqual([1, 1, 0]);
    await expect(sign(key, given('wrong'))).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
    expect(hashed).toBe(0);
    await expect(sign(key, password, 'another')).rejects.toMatchObject({ code: 'DIGEST_NOT_AUTHORISED' });
    expect(hashed).toBe(0);
    const free = await newKey(undefined);
    expect([await sign(free.key, free.password), hashed]).toEqual([1, 0]);
  });

  it('is hashed for a one-time password that is bound, not for the password beside it', async () => {
    const { key, password } = await newKey(undefined);
    const otp = given(await keys.makeOtp(key, { action: 'SIGN', digests: bound }));
    expect([await sign(key, password), hashed]).toEqual([1, 0]);
    await expect(sign(key, otp, 'another')).rejects.toMatchObject({ code: 'DIGEST_NOT_AUTHORISED' });
    const next = given(await keys.makeOtp(key, { action: 'SIGN', digests: bound }));
    expect([await sign(key, next), hashed]).toEqual([1, 1]);
  });
});
