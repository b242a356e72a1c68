import { createPublicKey, verify } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import type { StateConfig } from '../../src/config/state-config.ts';
import type { IdentityKey, IdentityName } from '../../src/keys/identity-keys.ts';
import { standingOf } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import type { IdentitySecret } from '../../src/keys/new-identity.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { newKeyId, parseKeyId } from '../../src/token/key-id.ts';
import { databases } from '../state/databases.ts';
import { givenPassword, newIdentity } from '../support/new-identity.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';

const zone = Buffer.from('DC04FR00ABCD267E267E0101FR26FR');
const what = { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, zones: [zone] } as const;
const failed = { code: 'ACTIVATION_FAILED', message: 'activation failed' };
const locked = { code: 'KEY_LOCKED' };
let count = 0;

let scratch: ScratchToken;
let token: TokenClient;

beforeAll(async () => {
  scratch = scratchToken({ threads: 2 });
  token = new TokenClient(scratch.config, scratch.configPath, recordingLog(), () => undefined, { servesOperator: true });
  await token.start();
});

afterAll(async () => {
  await token.stop();
  scratch.remove();
});

/** A name that no other test has. */
function newName(): IdentityName {
  count += 1;
  return { tenant: tenantId('demo'), ca: 'FR99', certificateId: String(count).padStart(4, '0') };
}

const isOnToken = async (id: string): Promise<boolean> => (await token.listKeys()).some((key) => key.id === id);

async function found(keys: Keyring, name: IdentityName): Promise<IdentityKey> {
  const key = await keys.findIdentity(name);
  if (key === undefined) throw new Error('there is no such identity');
  return key;
}

async function sign(keys: Keyring, name: IdentityName, password: string): Promise<readonly Uint8Array[]> {
  return keys.signZones(await found(keys, name), givenPassword(password), what, async (values) => Promise.resolve(values));
}

async function guess(keys: Keyring, name: IdentityName, times: number): Promise<void> {
  for (let time = 0; time < times; time += 1) await expect(sign(keys, name, 'a wrong guess')).rejects.toMatchObject(failed);
}

describe.each([
  ['SQLite', databases.SQLite()],
  ['PostgreSQL', databases.PostgreSQL()],
] as const)('the key of a digital identity in %s', (_kind, database) => {
  let config: StateConfig;
  let store: StateStore;
  let keys: Keyring;
  let name: IdentityName;
  let made: IdentitySecret;

  beforeAll(async () => {
    await database.start();
    config = await database.fresh();
    store = await openStateStore(config, recordingLog());
  });

  afterAll(async () => {
    await store.close();
    await database.stop();
  });

  beforeEach(async () => {
    keys = new Keyring(store, token);
    name = newName();
    made = await newIdentity(store, token, name);
  });

  const rowNow = async () => store.run('identityKeyAt', made.row.reference);

  /** Straight in the database. */
  async function change(sql: string): Promise<void> {
    const text = sql.replaceAll('$key', `'${made.row.reference}'`);
    if (config.kind === 'sqlite') {
      const file = new DatabaseSync(config.path, { timeout: 10_000 });
      file.exec(text);
      file.close();
      return;
    }
    const client = new Client({ host: config.host, database: config.database, user: config.user });
    await client.connect();
    await client.query(text);
    await client.end();
  }

  it('signs a data zone with its password; OpenSSL verifies the value, and nothing is written', async () => {
    const [value] = await sign(keys, name, made.password);
    const key = createPublicKey({ key: Buffer.from(made.row.public_key), format: 'der', type: 'spki' });
    expect(verify('sha256', zone, { key, dsaEncoding: 'ieee-p1363' }, value ?? new Uint8Array())).toBe(true);
    expect(await rowNow()).toMatchObject({ failures_in_row: 0, failures_since_success: 0, locked_until: null });
  });

  it('belongs to its tenant, and to its identifiers', async () => {
    for (const other of [{ tenant: tenantId('other') }, { ca: 'FR98' }, { certificateId: 'ZZZZ' }])
      expect(await keys.findIdentity({ ...name, ...other })).toBeUndefined();
  });

  it('is the only one in use with its names', async () => {
    await expect(newIdentity(store, token, name)).rejects.toThrow(/already has a key/);
  });

  it('counts wrong passwords, and the right one resets the count', async () => {
    await guess(keys, name, 4);
    expect(await rowNow()).toMatchObject({ failures_in_row: 4, failures_since_success: 4 });
    await sign(keys, name, made.password);
    expect(await rowNow()).toMatchObject({ failures_in_row: 0, failures_since_success: 0 });
  });

  it('is locked by five wrong passwords in a row, for its owner too, until it is unlocked', async () => {
    await guess(keys, name, 5);
    await expect(sign(keys, name, made.password)).rejects.toMatchObject(locked);
    expect(standingOf(await found(keys, name), keys.now())).toMatchObject({ state: 'LOCKED', remainingAttempts: 0 });
    expect(await keys.verifySecret(await found(keys, name), givenPassword(made.password))).toBeUndefined();
    // A restart changes nothing.
    const restarted = new Keyring(store, token);
    await expect(sign(restarted, name, made.password)).rejects.toMatchObject(locked);
    await keys.operator.unlockIdentity(made.row.reference, []);
    expect(await sign(keys, name, made.password)).toHaveLength(1);
  });

  it('is locked until an operator unlocks it by twenty wrong passwords without a success', async () => {
    for (let times = 0; times < 4; times += 1) {
      await guess(keys, name, 5);
      await change('update identity_keys set locked_until = 1 where reference = $key');
      await keys.recover();
      keys = new Keyring(store, token);
    }
    await expect(sign(keys, name, made.password)).rejects.toMatchObject({ ...locked, message: /until the operator unlocks it/ });
    await expect(keys.operator.unlockIdentity('0'.repeat(40), [])).rejects.toMatchObject({ code: 'KEY_UNKNOWN' });
    await keys.operator.unlockIdentity(made.row.reference, []);
    expect(await sign(keys, name, made.password)).toHaveLength(1);
  });

  it('has no more guesses at once than it has attempts left, over all instances', async () => {
    const second = config.kind === 'sqlite' ? store : await openStateStore(config, recordingLog());
    const instances = [keys, config.kind === 'sqlite' ? keys : new Keyring(second, token)];
    try {
      const outcomes = await Promise.allSettled(
        Array.from({ length: 30 }, async (_, index) => sign(instances[index % 2] ?? keys, name, `guess ${index}`)),
      );
      const codes = outcomes.map((outcome) => (outcome.status === 'rejected' ? (outcome.reason as { code?: string }).code : 'signed'));
      expect(codes.filter((code) => code === 'ACTIVATION_FAILED')).toHaveLength(5);
      expect(codes.filter((code) => code === 'KEY_LOCKED')).toHaveLength(25);
      expect(await rowNow()).toMatchObject({ failures_in_row: 5, failures_since_success: 5 });
    } finally {
      if (second !== store) await second.close();
    }
  });

  it('takes another password, which counts from the answer on', async () => {
    await sign(keys, name, made.password);
    await keys.changePassword(await found(keys, name), givenPassword(made.password), 'un autre mot de passe');
    await expect(sign(keys, name, made.password)).rejects.toMatchObject(failed);
    expect(await sign(keys, name, 'un autre mot de passe')).toHaveLength(1);
    expect(await sign(new Keyring(store, token), name, 'un autre mot de passe')).toHaveLength(1);
    expect(await keys.verifySecret(await found(keys, name), givenPassword('wrong'))).toBe(false);
    const same = keys.changePassword(await found(keys, name), givenPassword('un autre mot de passe'), 'un autre mot de passe');
    await expect(same).rejects.toMatchObject({ code: 'FIELDS_INCONSISTENT' });
  });

  it('is bound to no transaction: one that is given is wrong', async () => {
    const given = { ...givenPassword(made.password), transactionId: 'T-1' };
    await expect(keys.signZones(await found(keys, name), given, what, async () => Promise.resolve({}))).rejects.toMatchObject(failed);
  });

  it('signs no longer when its certificate has ended', async () => {
    const key = await found(keys, name);
    key.expiresAt = keys.now() - 1;
    await expect(keys.signZones(key, givenPassword(made.password), what, async () => Promise.resolve({}))).rejects.toMatchObject({
      code: 'KEY_STATE',
      message: 'the certificate of the key has expired',
    });
  });

  it.each([
    ['the tenant', "update identity_keys set tenant = 'other' where reference = $key", { tenant: tenantId('other') }],
    ['the CA', "update identity_keys set ca = 'FR97' where reference = $key", { ca: 'FR97' }],
    ['the certificate', "update identity_keys set certificate_id = 'XXXX' where reference = $key", { certificateId: 'XXXX' }],
    ['the key on the token', "update identity_keys set key_id = '44' || substr(reference, 1, 32) where reference = $key", {}],
    ['the key on the token, which is none', "update identity_keys set key_id = 'none ' || reference where reference = $key", {}],
    ['the type', "update identity_keys set key_type = 'none' where reference = $key", {}],
    ['the public key', 'update identity_keys set public_key = secret_mac where reference = $key', {}],
    ['the time of its making', 'update identity_keys set created_at = created_at + 1 where reference = $key', {}],
    ['the secret', 'update identity_keys set secret_mac = seal_mac where reference = $key', {}],
    ['the stretching', 'update identity_keys set secret_stretched = 1 where reference = $key', {}],
    ['the seal', 'update identity_keys set seal_salt = null, seal_mac = null where reference = $key', {}],
  ] as const)('is refused if somebody changed %s in its row, which is logged and counts for nothing', async (_what, sql, renamed) => {
    await change(sql);
    const log = recordingLog();
    const restarted = new Keyring(store, token, { log });
    await expect(restarted.findIdentity({ ...name, ...renamed })).rejects.toMatchObject(failed);
    expect(log.lines.filter((line) => line.startsWith('the state store was changed'))).toHaveLength(1);
    expect(await rowNow()).toMatchObject({ failures_in_row: 0, failures_since_success: 0 });
    // The names are free again for the next test.
    await change("update identity_keys set state = 'REMOVED' where reference = $key");
  });

  it('is removed by an operator: it is gone from the token, and its names are free', async () => {
    await sign(keys, name, made.password);
    expect(await keys.operator.removeIdentity(made.row, [])).toBe(true);
    expect(await isOnToken(made.row.key_id)).toBe(false);
    expect(await keys.findIdentity(name)).toBeUndefined();
    expect(await keys.operator.removeIdentity(made.row, [])).toBe(false);
    const next = await newIdentity(store, token, name);
    expect(await sign(keys, name, next.password)).toHaveLength(1);
    await expect(sign(keys, name, made.password)).rejects.toMatchObject(failed);
  });

  it('is never destroyed by a recovery, whatever the journal says', async () => {
    await store.run('announce', { key_id: made.row.key_id, intent: 'DESTROY', created_at: 0 });
    expect((await keys.recover()).kept).toContain(made.row.key_id);
    expect(await sign(keys, name, made.password)).toHaveLength(1);
    await store.run('finishStep', made.row.key_id);
  });

  it('that was being made when signetctl was killed is destroyed by the next start', async () => {
    const id = newKeyId('identity');
    await store.run('announce', { key_id: id, intent: 'CREATE', created_at: 0 });
    await token.createKey(id, 'P-384');
    expect(await isOnToken(id)).toBe(true);
    await keys.recover();
    expect(await isOnToken(id)).toBe(false);
    expect((await store.run('journal')).map((entry) => entry.key_id)).not.toContain(id);
    // The command, had it only been slow, can no longer finish.
    const late = { ...made.row, reference: 'f'.repeat(40), key_id: parseKeyId(id), certificate_id: 'LATE' };
    await expect(store.run('insertIdentityKey', late)).rejects.toMatchObject({ code: 'CREATION_LOST' });
  });
});
