import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { X509Certificate } from 'node:crypto';
import { Client } from 'pg';
import { ClientRegistry, registerClient, spkiSha256 } from '../../src/clients/registry.ts';
import { tenantId, type Caller } from '../../src/clients/caller.ts';
import { whileCalledBy } from '../../src/clients/current-caller.ts';
import type { StateConfig } from '../../src/config/state-config.ts';
import type { GivenSecret } from '../../src/keys/credentials.ts';
import { parseKeyReferenceId, stateOf, type KeyReferenceId } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import { SecretsPaced } from '../../src/keys/secret-pace.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { refusalOfUse, UsedTokens } from '../../src/certificates/jwt/used-tokens.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { ScratchPostgresql } from '../support/postgresql.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';

const algorithm = { scheme: 'ECDSA', hash: 'sha256' } as const;
const toBeSigned = { algorithm, digests: [new Uint8Array(32)], documents: [] };
const tenant = tenantId('demo');
const given = (password: string) => ({ member: 'password', bytes: Buffer.from(password), transactionId: undefined }) as const;
const wrong = given('wrong');

let server: ScratchPostgresql;
let config: StateConfig;
let scratch: ScratchToken;
let token: TokenClient;

/** What a daemon has of its own: its connections, its memory. */
interface Instance {
  readonly store: StateStore;
  readonly keys: Keyring;
  readonly clients: ClientRegistry;
}

let a: Instance;
let b: Instance;

async function instance(times: { abandonedMs?: number; attemptMaxMs?: number } = {}): Promise<Instance> {
  const store = await openStateStore(config, recordingLog());
  return { store, keys: new Keyring(store, token, times), clients: new ClientRegistry(store) };
}

beforeAll(async () => {
  scratch = scratchToken({ threads: 2 });
  token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
  await token.start();
  server = await ScratchPostgresql.start();
  config = await server.newDatabase();
  a = await instance();
  b = await instance();
});

afterAll(async () => {
  await a.store.close();
  await b.store.close();
  await token.stop();
  await server.remove();
  scratch.remove();
});

async function newKey(): Promise<{ reference: KeyReferenceId; password: GivenSecret }> {
  const { reference, secret } = await a.keys.create({
    tenant,
    type: 'P-256',
    protocol: 'PASSWORD',
    subscriber: {},
    issue: async () => Promise.resolve({ row: certificateRow() }),
  });
  return { reference, password: given(secret.password ?? '') };
}

const sign = async ({ keys }: Instance, { reference, password }: { reference: KeyReferenceId; password: GivenSecret }): Promise<number> =>
  (await keys.sign(await keys.find(tenant, reference), password, toBeSigned, async (values) => Promise.resolve(values))).length;

const refusal = (code: string): unknown => expect.objectContaining({ code });

describe('two instances on one PostgreSQL', () => {
  it('sign with a key that the other made', async () => {
    const key = await newKey();
    expect([await sign(a, key), await sign(b, key)]).toEqual([1, 1]);
  });

  it('make one certificate between them for a token of one use, and leave no key for the others', async () => {
    const identityToken = { issuer: 'https://idp.example.org', id: 'T-1', endsAtSeconds: Date.now() / 1000 + 60 };
    const before = await token.listKeys();
    const create = async ({ store, keys }: Instance): Promise<unknown> => {
      const used = new UsedTokens(store);
      await used.check(identityToken);
      const row = certificateRow();
      const issue = async () => Promise.resolve({ row });
      const steps = [used.use(identityToken)];
      return keys.create({ tenant, type: 'P-256', protocol: 'PASSWORD', subscriber: {}, issue, steps });
    };
    const made = await Promise.allSettled([a, b, a, b, b, a].map(create));
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const one of made) {
      if (one.status === 'rejected') expect(refusalOfUse(one.reason)).toEqual(refusal('ISSUANCE_REFUSED'));
    }
    await expect(create(b)).rejects.toEqual(refusal('ISSUANCE_REFUSED'));
    expect(await token.listKeys()).toHaveLength(before.length + 1);
    expect(await a.store.run('journal')).toEqual([]);
  });

  it('refuse at the next request a key that the other removed, though both know it and its secret', async () => {
    const key = await newKey();
    await sign(a, key);
    await sign(b, key);
    await a.keys.remove(await a.keys.find(tenant, key.reference), key.password);
    await expect(sign(b, key)).rejects.toEqual(refusal('KEY_STATE'));
    expect(stateOf(await b.keys.find(tenant, key.reference), Date.now())).toBe('REMOVED');
  });

  it('refuse at the next request a key that failures at the other locked', async () => {
    const key = await newKey();
    await sign(b, key);
    for (let attempt = 0; attempt < 5; attempt += 1) await a.keys.verifySecret(await a.keys.find(tenant, key.reference), wrong);
    await expect(sign(b, key)).rejects.toEqual(refusal('KEY_LOCKED'));
  });

  it('count failures together: twenty guesses at once at both are five', async () => {
    const key = await newKey();
    const guess = async ({ keys }: Instance): Promise<boolean | undefined> =>
      keys.verifySecret(await keys.find(tenant, key.reference), wrong);
    const answers = await Promise.all(Array.from({ length: 20 }, async (_, index) => guess(index % 2 === 0 ? a : b)));
    expect(answers.filter((answer) => answer === false)).toHaveLength(5);
    const row = await a.store.run('findKey', key.reference);
    expect(row).toMatchObject({ failures_in_row: 5, reserved: 0 });
  });

  it('serve first uses of a right secret at both at once: they wait for each other', async () => {
    const key = await newKey();
    const uses = Array.from({ length: 24 }, async (_, index) => sign(index % 2 === 0 ? a : b, key));
    expect(await Promise.all(uses)).toEqual(Array.from({ length: 24 }, () => 1));
    expect(await a.store.run('findKey', key.reference)).toMatchObject({ failures_in_row: 0, reserved: 0, locked_until: null });
  });

  it('give a reservation back when the token fails', async () => {
    const key = await newKey();
    const record = await a.keys.find(tenant, key.reference);
    await expect(
      a.keys.sign(record, key.password, { ...toBeSigned, algorithm: { scheme: 'RSA_PKCS1', hash: 'sha256' } }, async (values) =>
        Promise.resolve(values),
      ),
    ).rejects.toThrow();
    expect(await a.store.run('findKey', key.reference)).toMatchObject({ failures_in_row: 0, reserved: 0 });
  });

  it('see a client that the other registered, changed, or took away, by hand too, at the next request', async () => {
    const certificate = new X509Certificate(Buffer.from(certificateRow().der));
    const spki = spkiSha256(certificate);
    expect(await b.clients.find(spki)).toBeUndefined();
    await registerClient(a.store, { certificate, name: 'app', tenant: 'demo', roles: ['keys'] });
    expect((await b.clients.find(spki))?.tenant).toBe('demo');
    await registerClient(a.store, { certificate, name: 'app', tenant: 'demo', roles: [] });
    expect((await b.clients.find(spki))?.roles.size).toBe(0);
    await server.query(config.kind === 'postgresql' ? config.database : '', `delete from clients where spki_sha256 = '${spki}'`);
    expect(await b.clients.find(spki)).toBeUndefined();
  });

  it('leave alone at their start what another is making, and undo it when it is abandoned', async () => {
    const id = newKeyId('caller');
    await a.store.run('announce', { key_id: id, intent: 'CREATE', created_at: Date.now() });
    await token.createKey(id, 'P-256');
    expect((await b.keys.recover()).finished).toBe(0);
    const impatient = await instance({ abandonedMs: -1 });
    expect((await impatient.keys.recover()).finished).toBe(1);
    await impatient.store.close();
    expect((await token.listKeys()).map((key) => key.id)).not.toContain(id);
    expect(await a.store.run('journal')).toEqual([]);
  });

  it('recover after a crash of the server', async () => {
    const key = await newKey();
    await sign(b, key);
    await server.stop('immediate');
    await expect(sign(b, key)).rejects.toThrow('not available');
    await server.restart();
    await expect.poll(async () => sign(b, key).catch(() => 0), { timeout: 20_000 }).toBe(1);
    await expect.poll(async () => sign(a, key).catch(() => 0), { timeout: 20_000 }).toBe(1);
  });
});

describe('an instance that migrates the schema while another runs', () => {
  it('does not bring back a one-time password that the other uses up meanwhile', async () => {
    const older = await server.newDatabase();
    if (older.kind !== 'postgresql') throw new Error('the database is PostgreSQL');
    await (await openStateStore(older, recordingLog())).close();
    await server.query(
      older.database,
      `delete from kysely_migration where name = '0025-activation-data';
       insert into certificates (sha1, tenant, authority, serial_number, der, not_before, not_after)
         values ('a', 'demo', 'issuing', '1', '\\x00', 0, 0);
       insert into keys (reference, tenant, key_id, key_type, protocol, state, secret_salt, secret_mac, created_at)
         values ('a', 'demo', '43aa', 'P-256', 'OTP', 'ACTIVE', '', '', 0);
       insert into otps (reference, action, otp_id, salt, mac, attempts_left, expires_at) values
         ('a', 'SIGN', 'used', '\\x00', '\\x00', 3, 9000000000000), ('a', 'REVOKE', 'open', '\\x00', '\\x00', 3, 9000000000000)`,
    );
    const other = new Client({ host: older.host, database: older.database, user: 'signetd' });
    await other.connect();
    await other.query("begin; delete from otps where otp_id = 'used'");
    const migrating = openStateStore(older, recordingLog());
    const waiting = async (): Promise<unknown> =>
      server.query(older.database, "select 1 from pg_locks where not granted and relation = 'otps'::regclass");
    await expect.poll(waiting, { timeout: 30_000 }).toHaveLength(1);
    await other.query('commit');
    await other.end();
    await (await migrating).close();
    expect(await server.query(older.database, 'select otp_id from otps')).toEqual([{ otp_id: 'open' }]);
  });
});

describe('wrong secrets that a client sends to two instances', () => {
  const limits = {
    ...{ wrongSecretsBurstPerClient: 6, wrongSecretsPerMinutePerClient: 0.01 },
    ...{ wrongSecretsBurstPerTenant: 600, wrongSecretsPerMinutePerTenant: 600 },
  };
  const paced = async (): Promise<Pick<Instance, 'store' | 'keys'>> => {
    const store = await openStateStore(config, recordingLog());
    return { store, keys: new Keyring(store, token, { pace: { limits: () => limits } }) };
  };
  const client: Caller = { spkiSha256: 'c'.repeat(64), name: 'app', tenant, roles: new Set() };
  const tell = async ({ keys }: Pick<Instance, 'keys'>, reference: KeyReferenceId, secret: GivenSecret): Promise<string> =>
    whileCalledBy(client, async () => {
      try {
        return String(await keys.verifySecret(await keys.find(tenant, reference), secret));
      } catch (error) {
        return error instanceof SecretsPaced ? error.scope : String(error);
      }
    });

  it('are counted by both, in turn and at once, and by the next one', async () => {
    const [one, two] = [await paced(), await paced()];
    const made = await Promise.all(
      Array.from({ length: 10 }, async () =>
        one.keys.create({
          tenant,
          type: 'P-256',
          protocol: 'PASSWORD',
          subscriber: {},
          issue: async () => Promise.resolve({ row: certificateRow() }),
        }),
      ),
    );
    const told: string[] = [];
    for (const [index, { reference }] of made.slice(0, 4).entries()) told.push(await tell(index % 2 === 0 ? one : two, reference, wrong));
    expect(told).toEqual(Array.from({ length: 4 }, () => 'false'));
    const atOnce = await Promise.all(
      made.slice(4).map(async ({ reference }, index) => tell(index % 2 === 0 ? one : two, reference, wrong)),
    );
    // Two are left, which both instances may use at the same moment.
    const compared = atOnce.filter((answer) => answer === 'false').length;
    expect([compared >= 2, compared <= 4, atOnce.filter((answer) => answer === 'client').length]).toEqual([true, true, 6 - compared]);
    const three = await paced();
    for (const at of [one, two, three]) {
      const [first] = made;
      expect(await tell(at, first?.reference ?? parseKeyReferenceId(''), given(first?.secret.password ?? ''))).toBe('client');
    }
    const [row] = await three.store.run('findSecretPaces', [`client ${client.spkiSha256}`]);
    expect(Math.round(row?.missing ?? 0)).toBe(4 + compared);
    for (const { store } of [one, two, three]) await store.close();
  });
});
