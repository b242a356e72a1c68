import { createHash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { CrlPublisher } from '../../src/certificates/crl/crl-publisher.ts';
import { Revocations } from '../../src/certificates/revocations.ts';
import { tenantId } from '../../src/clients/caller.ts';
import type { StateConfig } from '../../src/config/state-config.ts';
import type { GivenSecret } from '../../src/keys/credentials.ts';
import type { KeyReferenceId } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import { KeptAnswers } from '../../src/idempotency/kept-answers.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { softwareAuthority } from '../certificates/software-authority.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { ScratchPostgresql } from '../support/postgresql.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';
import { oneKey } from '../support/sealing-keys.ts';

const tenant = tenantId('demo');
const toBeSigned = { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, digests: [new Uint8Array(32)], documents: [] } as const;
const digests = [{ id: 'd', hash: 'sha256', value: new Uint8Array(32) }] as const;
const given = (password: string | undefined): GivenSecret => ({
  member: 'password',
  bytes: Buffer.from(password ?? ''),
  transactionId: undefined,
});

let server: ScratchPostgresql;
let config: StateConfig;
let scratch: ScratchToken;
let token: TokenClient;
let store: StateStore;
let keys: Keyring;

beforeAll(async () => {
  scratch = scratchToken();
  token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
  await token.start();
  server = await ScratchPostgresql.start();
  config = await server.newDatabase();
  store = await openStateStore(config, recordingLog());
  keys = new Keyring(store, token);
});

afterEach(() => {
  vi.useRealTimers();
});

afterAll(async () => {
  await store.close();
  await token.stop();
  await server.remove();
  scratch.remove();
});

/** From now on the clock of this machine is wrong by so much; that of the database server is not. */
const setClock = (minutes: number): void => {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + minutes * 60_000 });
};

async function newKey(protocol: 'PASSWORD' | 'OTP' = 'PASSWORD'): Promise<{ reference: KeyReferenceId; password: GivenSecret }> {
  const request = { tenant, type: 'P-256', protocol, subscriber: {} } as const;
  const { reference, secret } = await keys.create({ ...request, issue: async () => Promise.resolve({ row: certificateRow() }) });
  return { reference, password: given(secret.password) };
}

describe.each([20, -20])('an instance whose clock is wrong by %s minutes', (minutes) => {
  let wrong: { readonly store: StateStore; readonly keys: Keyring };

  beforeAll(async () => {
    setClock(minutes);
    const its = await openStateStore(config, recordingLog());
    wrong = { store: its, keys: new Keyring(its, token) };
    vi.useRealTimers();
  });

  afterAll(async () => wrong.store.close());

  it('goes by the clock of the database server', async () => {
    setClock(minutes);
    const said = await server.query(
      config.kind === 'postgresql' ? config.database : '',
      'select (extract(epoch from clock_timestamp()) * 1000)::float8 as now',
    );
    expect(Math.abs(wrong.store.now() - Number(said[0]?.['now']))).toBeLessThan(10_000);
  });

  it('ends no lock, and locks until the same moment as others', async () => {
    const { reference, password } = await newKey();
    for (let attempt = 0; attempt < 5; attempt += 1) await keys.verifySecret(await keys.find(tenant, reference), given('wrong'));
    setClock(minutes);
    const key = await wrong.keys.find(tenant, reference);
    await expect(wrong.keys.sign(key, password, toBeSigned, async (values) => Promise.resolve(values))).rejects.toMatchObject({
      code: 'KEY_LOCKED',
    });
    const { reference: second } = await newKey();
    for (let attempt = 0; attempt < 5; attempt += 1) await wrong.keys.verifySecret(await wrong.keys.find(tenant, second), given('wrong'));
    const [first, later] = await Promise.all([reference, second].map(async (one) => store.run('findKey', one)));
    expect(Math.abs((later?.locked_until ?? 0) - (first?.locked_until ?? 0))).toBeLessThan(60_000);
  });

  it('takes a one-time password that another made, and makes one that another takes', async () => {
    const { reference } = await newKey('OTP');
    setClock(minutes);
    const sign = async (at: Keyring, otp: string | undefined): Promise<number> =>
      (await at.sign(await at.find(tenant, reference), given(otp), toBeSigned, async (values) => Promise.resolve(values))).length;
    const make = async (at: Keyring): Promise<string | undefined> =>
      at.makeOtp(await at.find(tenant, reference), { action: 'SIGN', digests });
    vi.useRealTimers();
    const made = await make(keys);
    setClock(minutes);
    expect(await sign(wrong.keys, made)).toBe(1);
    const second = await make(wrong.keys);
    vi.useRealTimers();
    expect(await sign(keys, second)).toBe(1);
  });

  it('revokes and issues CRLs by the same clock as others', async () => {
    const serverMs = store.now();
    // Ends between the two clocks.
    const row = { ...certificateRow(), authority: `ca ${minutes}`, not_after: serverMs + (minutes / 2) * 60_000 };
    await keys.create({ ...{ tenant, type: 'P-256', protocol: 'OTP', subscriber: {} }, issue: async () => Promise.resolve({ row }) });
    setClock(minutes);
    const { issuer } = await softwareAuthority('P-256');
    const settings = { lifetimeSeconds: 3600, renewBeforeSeconds: 1800, keepExpired: true };
    const publisher = new CrlPublisher(wrong.store, row.authority, issuer, { settings, log: recordingLog() });
    await publisher.start();
    await publisher.stop();
    expect(Math.abs((publisher.published?.thisUpdate.getTime() ?? 0) - serverMs)).toBeLessThan(60_000);

    const revocations = new Revocations(wrong.store, { changed: () => undefined });
    const certificate = await revocations.find(tenant, row.der);
    const check = () => {
      revocations.check(certificate, 'KEY_COMPROMISE');
    };
    if (minutes > 0) check();
    else expect(check).toThrow('the certificate has expired');
    const date = await revocations.change(certificate, 'KEY_COMPROMISE', () => ({}));
    expect(Math.abs(date.getTime() - serverMs)).toBeLessThan(60_000);
  });

  it('takes no request from another that works on it, nor forgets its kept answer', async () => {
    const mac = async (message: Uint8Array): Promise<Uint8Array> => Promise.resolve(createHash('sha256').update(message).digest());
    const request = { client: 'f0', tenant: 'demo', operation: 'pki/test', idempotencyKey: `clock ${minutes}`, body: {}, bodyBytes: 2 };
    const repeatable = (run: () => Promise<string>) => ({
      run,
      isKept: () => true,
      endingOf: String,
      settled: () => '',
    });
    const threads = new WorkThreads();
    const keeper = { keys: oneKey(mac), threads, limits: () => ({ client: 1_000_000, tenant: 1_000_000, all: 1_000_000 }) };
    const answers = await KeptAnswers.open({ ...keeper, store });
    const started = Promise.withResolvers<undefined>();
    const goOn = Promise.withResolvers<undefined>();
    const first = answers.once(
      request,
      repeatable(async () => {
        started.resolve(undefined);
        await goOn.promise;
        return 'first';
      }),
    );
    await started.promise;
    setClock(minutes);
    const others = await KeptAnswers.open({ ...keeper, store: wrong.store });
    const second = others.once(
      request,
      repeatable(async () => Promise.resolve('second')),
    );
    // It has looked, and waits.
    await wrong.store.run('probe');
    goOn.resolve(undefined);
    expect([(await first).ending, (await second).ending]).toEqual(['first', 'first']);
    answers.stop();
    others.stop();
    await threads.stop();
  });
});
