import { DatabaseSync } from 'node:sqlite';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import type { StateConfig } from '../../src/config/state-config.ts';
import type { GivenSecret } from '../../src/keys/credentials.ts';
import { recordOf, type ActivationProtocol, type KeyReferenceId } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import type { IssuingChainRow } from '../../src/state/tables/certificates.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import { databases } from '../state/databases.ts';
import { issuingChainRow } from '../../src/certificates/chains.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { isLongRun } from '../support/repetitions.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { recordingLog } from '../support/silent-log.ts';

const [tenant, another] = [tenantId('demo'), tenantId('another')];
const toBeSigned = { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, digests: [new Uint8Array(32)], documents: [] } as const;
const listed = [{ id: 'd', hash: 'sha256', value: new Uint8Array(32) }] as const;
const refused = { code: 'ACTIVATION_FAILED', message: 'activation failed' };
const changedLines = (lines: readonly string[]): number => lines.filter((line) => line.startsWith('the state store was changed')).length;

let scratch: ScratchToken;
let token: TokenClient;

beforeAll(async () => {
  scratch = scratchToken();
  token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
  await token.start();
});

afterAll(async () => {
  await token.stop();
  scratch.remove();
});

/** What somebody with write access does, `$key` being the key and `$other` another one of the same tenant with everything that a key can have. */
const changes = {
  'the tenant': "update keys set tenant = 'another' where reference = $key",
  'the tenant, of the certificate too':
    "update certificates set tenant = 'another' where sha1 = $key; update keys set tenant = 'another' where reference = $key",
  'the key on the token': "update keys set key_id = '43' || substr(reference, 1, 32) where reference = $key",
  'the key on the token, which is none': "update keys set key_id = 'none ' || reference where reference = $key",
  'the type': "update keys set key_type = 'P-384' where reference = $key",
  'the type, to none that there is': "update keys set key_type = 'none' where reference = $key",
  'the protocol': "update keys set protocol = case protocol when 'OTP' then 'PASSWORD' else 'OTP' end where reference = $key",
  'the binding, to nothing': 'update keys set bound_digests = null where reference = $key',
  'the binding, to something else': `update keys set bound_digests = '[]' where reference = $key`,
  'the binding, to what is none': `update keys set bound_digests = 'no list' where reference = $key`,
  'the transaction, to none': 'update keys set transaction_salt = null, transaction_mac = null where reference = $key',
  'the transaction, to that of another key':
    'update keys set (transaction_salt, transaction_mac) = (select transaction_salt, transaction_mac from keys where reference = $other) where reference = $key',
  'the e-mail address': "update keys set subscriber_email = 'thief@example.org' where reference = $key",
  'the number': "update keys set subscriber_phone = '+33700000000' where reference = $key",
  'the time of its making': 'update keys set created_at = created_at + 1 where reference = $key',
  'the secret, to that of another key':
    'update keys set (secret_salt, secret_mac, secret_stretched) = (select secret_salt, secret_mac, secret_stretched from keys where reference = $other) where reference = $key',
  'the secret, and its stretching': 'update keys set secret_stretched = 1 - secret_stretched where reference = $key',
  'the secret and the seal, to those of another key':
    'update keys set (secret_salt, secret_mac, seal_salt, seal_mac) = (select secret_salt, secret_mac, seal_salt, seal_mac from keys where reference = $other) where reference = $key',
  'the seal, to none': 'update keys set seal_salt = null, seal_mac = null where reference = $key',
  'the seal, to half of one': 'update keys set seal_salt = null where reference = $key',
  'the seal, to what is none': 'update keys set seal_salt = seal_mac where reference = $key',
  'the certificate': 'update certificates set der = (select der from certificates where sha1 = $other) where sha1 = $key',
  'the tenant of the certificate': "update certificates set tenant = 'another' where sha1 = $key",
  'the authority': "update certificates set authority = 'another' where sha1 = $key",
  'the issuers, to none': 'update certificates set issuing_chain = null where sha1 = $key',
} as const;

describe.each([
  ['SQLite', databases.SQLite()],
  ['PostgreSQL', databases.PostgreSQL()],
] as const)('a row that somebody changed in %s', (name, database) => {
  let config: StateConfig;
  let store: StateStore;
  let other: KeyReferenceId;
  let commonChain: IssuingChainRow;

  beforeAll(async () => {
    await database.start();
    config = await database.fresh();
    store = await openStateStore(config, recordingLog());
    commonChain = issuingChainRow({ chain: [certificateRow().der] });
    other = (await newKey('PASSWORD')).reference;
  });

  afterAll(async () => {
    await store.close();
    await database.stop();
  });

  /** The service as a restart makes it. */
  function restarted(): { keys: Keyring; lines: readonly string[] } {
    const log = recordingLog();
    return { keys: new Keyring(store, token, { log }), lines: log.lines };
  }

  /** Straight in the database. */
  async function change(sql: string, key: KeyReferenceId): Promise<void> {
    const text = sql.replaceAll('$key', `'${key}'`).replaceAll('$other', `'${other}'`);
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

  interface MadeKey {
    readonly reference: KeyReferenceId;
    readonly given: (secret?: string) => GivenSecret;
  }

  /** A key with all that a key can have. */
  async function newKey(protocol: ActivationProtocol, issuers = commonChain): Promise<MadeKey> {
    const row = certificateRow();
    const { reference, secret } = await restarted().keys.create({
      ...{ tenant, type: 'P-256', protocol, transactionId: 'T-1', binding: listed },
      subscriber: { emailAddress: 'owner@example.org', phoneNumber: '+33600000000' },
      issue: async () => Promise.resolve({ row, issuers }),
    });
    const own = secret.password ?? secret.authToken ?? '';
    const given = (text = own): GivenSecret => ({
      member: protocol === 'SINGLE_USE' ? 'authToken' : 'password',
      bytes: Buffer.from(text),
      transactionId: 'T-1',
    });
    return { reference, given };
  }

  const counters = async (reference: KeyReferenceId): Promise<unknown> => {
    const row = await store.run('findKey', reference);
    return [row?.failures_in_row, row?.failures_since_success, row?.state];
  };
  const sign = async (keys: Keyring, { reference, given }: MadeKey, secret?: string): Promise<number> =>
    (await keys.sign(await keys.find(tenant, reference), given(secret), toBeSigned, async (values) => Promise.resolve(values))).length;

  const cases = Object.entries(changes)
    .flatMap(([what, sql]) =>
      // Whoever judges a row knows no protocols, so a few of the others are enough.
      (['PASSWORD', ...(/binding|tenant|protocol/.test(what) ? (['OTP', 'SINGLE_USE'] as const) : [])] as const).map(
        (protocol) => [what, protocol, sql] as const,
      ),
    )
    // A row is judged alike whichever store it came from: PostgreSQL has all of them among the long tests, a part in `npm test`.
    .filter((_, index) => isLongRun || name === 'SQLite' || index % 4 === 0);

  it.each(cases)(
    '%s, of a key of %s: is refused to whoever asks for the key, said to the log, and counts for nothing',
    async (_what, protocol, sql) => {
      const key = await newKey(protocol);
      await change(sql, key.reference);
      const { keys, lines } = restarted();
      const holder = (await store.run('findKey', key.reference))?.tenant === 'another' ? another : tenant;
      await expect(keys.find(holder, key.reference)).rejects.toMatchObject(refused);
      expect(changedLines(lines)).toBe(1);
      expect(await counters(key.reference)).toEqual([0, 0, 'ACTIVE']);
    },
  );

  it('is told to the owner of a key that was given to another tenant; to a third it is a key like any that is not theirs', async () => {
    const key = await newKey('PASSWORD');
    await change(changes['the tenant'], key.reference);
    const { keys } = restarted();
    await expect(keys.find(tenant, key.reference)).rejects.toMatchObject(refused);
    await expect(keys.find(tenantId('third'), key.reference)).rejects.toMatchObject({ code: 'KEY_UNKNOWN' });
  });

  it('does not fit the secret: the token itself refuses it, without a look at the seal', async () => {
    const key = await newKey('PASSWORD');
    for (const sql of ['bound_digests = null', 'transaction_salt = null, transaction_mac = null', "subscriber_phone = '+33700000000'"]) {
      const { keys } = restarted();
      await change(`update keys set ${sql} where reference = $key`, key.reference);
      const row = await store.run('findKey', key.reference);
      if (row === undefined) throw new Error('no row');
      const believed = recordOf(row, tenant, undefined);
      const given = { ...key.given(), transactionId: row.transaction_mac === null ? undefined : 'T-1' };
      await expect(keys.sign(believed, given, toBeSigned, async () => Promise.resolve({}))).rejects.toMatchObject(refused);
    }
  });

  it('is found while the key is in use, as soon as the change is told or somebody of the new tenant asks; and is good again when it is put right', async () => {
    const key = await newKey('PASSWORD');
    const { keys, lines } = restarted();
    expect(await sign(keys, key)).toBe(1);
    await change(changes['the tenant'], key.reference);
    // PostgreSQL tells; an embedded store is the service's alone, and its memory has the row as it was.
    if (name === 'PostgreSQL') await expect(sign(keys, key)).rejects.toMatchObject(refused);
    await expect(keys.find(another, key.reference)).rejects.toMatchObject(refused);
    await expect(sign(keys, key)).rejects.toMatchObject(refused);
    await expect(keys.find(tenantId('third'), key.reference)).rejects.toMatchObject({ code: 'KEY_UNKNOWN' });
    expect(changedLines(lines)).toBeGreaterThan(0);
    await change("update keys set tenant = 'demo' where reference = $key", key.reference);
    expect(await sign(keys, key)).toBe(1);
    expect(await counters(key.reference)).toEqual([0, 0, 'ACTIVE']);
  });

  it('tells another tenant nothing: to them it is a key like any that is not theirs, also where it is in memory', async () => {
    const key = await newKey('PASSWORD');
    const { keys, lines } = restarted();
    expect(await sign(keys, key)).toBe(1);
    await change(changes['the binding, to something else'], key.reference);
    for (let time = 0; time < 2; time += 1) await expect(keys.find(another, key.reference)).rejects.toMatchObject({ code: 'KEY_UNKNOWN' });
    // Nor is anything looked into for them.
    expect(changedLines(lines)).toBe(0);
    const next = restarted();
    await expect(next.keys.find(tenant, key.reference)).rejects.toMatchObject(refused);
    await expect(next.keys.find(another, key.reference)).rejects.toMatchObject({ code: 'KEY_UNKNOWN' });
  });

  it('of the chain that the certificate was issued under is refused', async () => {
    const chain = issuingChainRow({ chain: [certificateRow().der] });
    const key = await newKey('PASSWORD', chain);
    await change(
      `update issuing_chains set der = (select der from issuing_chains where id <> '${chain.id}' limit 1) where id = '${chain.id}'`,
      key.reference,
    );
    await expect(restarted().keys.find(tenant, key.reference)).rejects.toMatchObject(refused);
    await change(`delete from issuing_chains where id = '${chain.id}'`, key.reference);
    await expect(restarted().keys.find(tenant, key.reference)).rejects.toMatchObject(refused);
  });

  it('is none if the service itself changed it: another password, states, counters', async () => {
    const key = await newKey('PASSWORD');
    const { keys } = restarted();
    await keys.changePassword(await keys.find(tenant, key.reference), key.given(), 'another password');
    expect(await keys.verifySecret(await keys.find(tenant, key.reference), key.given('wrong'))).toBe(false);
    const next = restarted();
    expect(await sign(next.keys, key, 'another password')).toBe(1);
    await expect(sign(next.keys, key)).rejects.toMatchObject(refused);
    await next.keys.remove(await next.keys.find(tenant, key.reference), key.given('another password'));
    expect(await counters(key.reference)).toEqual([0, 0, 'REMOVED']);
    expect(changedLines(next.lines)).toBe(0);
  });

  const wider = JSON.stringify([{ id: 'e', hash: 'sha256', value: Buffer.alloc(32, 1).toString('base64') }]);
  const otpChanges = {
    'the list of documents': `update otps set bound_digests = '${wider}' where reference = $key`,
    'the list of documents, to none': 'update otps set bound_digests = null where reference = $key',
    'the list of documents, to what is none': "update otps set bound_digests = 'no list' where reference = $key",
    'its end': 'update otps set expires_at = expires_at + 1000 where reference = $key',
    'its identifier': "update otps set otp_id = 'another' where reference = $key",
    'its salt': 'update otps set salt = mac where reference = $key',
    'its MAC': 'update otps set mac = (select secret_mac from keys where reference = $other) where reference = $key',
  } as const;

  it.each(Object.entries(otpChanges))('of a one-time password, %s: is refused, and said to the log', async (_name, sql) => {
    const key = await newKey('OTP');
    const { keys, lines } = restarted();
    const record = await keys.find(tenant, key.reference);
    const otp = await keys.makeOtp(record, { action: 'SIGN', digests: listed });
    await change(sql, key.reference);
    await expect(sign(keys, key, otp)).rejects.toMatchObject(refused);
    expect(changedLines(lines)).toBe(1);
  });

  it('of a one-time password for another action or of another key is refused', async () => {
    const [key, victim] = [await newKey('OTP'), await newKey('OTP')];
    const { keys, lines } = restarted();
    const otp = await keys.makeOtp(await keys.find(tenant, key.reference), { action: 'REVOKE', digests: [] });
    await change("update otps set action = 'SIGN' where reference = $key", key.reference);
    await expect(sign(keys, key, otp)).rejects.toMatchObject(refused);
    await change(`update otps set reference = '${victim.reference}' where reference = $key`, key.reference);
    await expect(sign(keys, victim, otp)).rejects.toMatchObject(refused);
    expect(changedLines(lines)).toBe(2);
  });

  it('is not suspected where a one-time password is wrong', async () => {
    const key = await newKey('OTP');
    const { keys, lines } = restarted();
    const otp = await keys.makeOtp(await keys.find(tenant, key.reference), { action: 'SIGN', digests: listed });
    await expect(sign(keys, key, 'wrong')).rejects.toMatchObject(refused);
    expect(await sign(keys, key, otp)).toBe(1);
    await expect(sign(keys, key, otp)).rejects.toMatchObject(refused);
    expect(changedLines(lines)).toBe(0);
  });
});
