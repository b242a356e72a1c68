import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantId, type Caller } from '../../src/clients/caller.ts';
import { whileCalledBy } from '../../src/clients/current-caller.ts';
import type { GivenSecret } from '../../src/keys/credentials.ts';
import { lockRule, type KeyRecord } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import type { KeyringOptions } from '../../src/keys/keyring-options.ts';
import { SecretsPaced, type PaceScope } from '../../src/keys/secret-pace.ts';
import type { Proofs, Token } from '../../src/token/token.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { tokenAndStore, type TokenAndStore } from '../support/token-and-store.ts';
import { tokenWith } from '../support/token-with.ts';

const tenant = tenantId('demo');
const toBeSigned = { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, digests: [new Uint8Array(32)], documents: [] } as const;
const digests = [{ id: '', hash: 'sha256', value: new Uint8Array(32) }] as const;
const burst = 6;

let around: TokenAndStore;
let clients = 0;

beforeAll(async () => {
  around = await tokenAndStore();
});
afterAll(async () => {
  await around.end();
});

/** A client that nothing is counted for yet. */
function newClient(): Caller {
  clients += 1;
  return { spkiSha256: String(clients).padStart(64, '0'), name: `client ${clients}`, tenant, roles: new Set() };
}

/** Counts the secrets that the token compares; seals of rows are none. */
function keyring(options: KeyringOptions = {}): { readonly keys: Keyring; readonly refused: PaceScope[]; readonly compared: () => number } {
  let compared = 0;
  const refused: PaceScope[] = [];
  const count = ({ anyOf }: Proofs): void => {
    if (anyOf.some(({ kind }) => kind !== 'RECORD')) compared += 1;
  };
  const counting: Partial<Token> = {
    verifyProof: async (id, proofs) => {
      count(proofs);
      return around.token.verifyProof(id, proofs);
    },
    signWithProof: async (id, algorithm, values, proofs) => {
      count(proofs);
      return around.token.signWithProof(id, algorithm, values, proofs);
    },
  };
  const limits = {
    ...{ wrongSecretsBurstPerClient: burst, wrongSecretsPerMinutePerClient: 0.01 },
    ...{ wrongSecretsBurstPerTenant: 100_000, wrongSecretsPerMinutePerTenant: 100_000 },
  };
  const pace = { limits: () => limits, refused: (scope: PaceScope) => refused.push(scope) };
  return { keys: new Keyring(around.store, tokenWith(around.token, counting), { pace, ...options }), refused, compared: () => compared };
}

const given = (member: GivenSecret['member'], secret: string, transactionId?: string): GivenSecret => ({
  ...{ member, bytes: Buffer.from(secret), transactionId },
});

/** Activation data that nobody authorised; `version`: of its identifier. */
function unknownData(version: string): GivenSecret {
  const id = randomBytes(16).toString('hex');
  return {
    ...given('sad', randomBytes(32).toString('latin1')),
    data: { otpId: `${id.slice(0, 12)}${version}${id.slice(13)}`, client: 'c' },
  };
}

interface Made {
  readonly key: KeyRecord;
  readonly secret: string;
}

async function newKey(keys: Keyring, protocol: 'PASSWORD' | 'OTP' | 'SINGLE_USE' = 'PASSWORD', transactionId?: string): Promise<Made> {
  const issue = async (): Promise<{ row: ReturnType<typeof certificateRow> }> => Promise.resolve({ row: certificateRow() });
  const { reference, secret } = await keys.create({ tenant, type: 'P-256', protocol, transactionId, subscriber: {}, issue });
  return { key: await keys.find(tenant, reference), secret: secret.password ?? secret.authToken ?? '' };
}

const sign = async (keys: Keyring, key: KeyRecord, secret: GivenSecret): Promise<string> =>
  ended(keys.sign(key, secret, toBeSigned, async (values) => Promise.resolve(values)));

/** How it ended: the code of a refusal, or that no secret was compared. */
async function ended(work: Promise<unknown>): Promise<string> {
  try {
    const value = await work;
    return value === false ? 'ACTIVATION_FAILED' : 'done';
  } catch (error) {
    if (error instanceof SecretsPaced) return 'paced';
    if (error instanceof Error && 'code' in error) return String(error.code);
    throw error;
  }
}

/** Every way in which a secret is given. */
const ways: Record<string, (keys: Keyring, key: KeyRecord, secret: string) => Promise<unknown>> = {
  sign: async (keys, key, secret) => keys.sign(key, given('password', secret), toBeSigned, async (values) => Promise.resolve(values)),
  checkKey: async (keys, key, secret) => keys.verifySecret(key, given('password', secret)),
  changePassword: async (keys, key, secret) => keys.changePassword(key, given('password', secret), 'a new password'),
  removeKey: async (keys, key, secret) => keys.remove(key, given('password', secret)),
  revokeCertificate: async (keys, key, secret) =>
    keys.revocation.authorise(key, given('password', secret), { steps: [], effect: 'revoked', answer: {} }),
  'revokeCertificate by its transaction': async (keys, key, secret) => keys.revocation.authoriseByTransaction(key, secret),
  'authorize by PIN': async (keys, key, secret) =>
    keys.activationData.authorise(key, { pin: given('pin', secret) }, { digests, signatures: 1, client: 'c' }),
  'authorize by OTP': async (keys, key, secret) =>
    keys.activationData.authorise(key, { otp: given('otp', secret) }, { digests, signatures: 1, client: 'c' }),
};

describe('secrets that a client tries on many keys', () => {
  it.each(Object.entries(ways))('are compared as often as its pace lets it, and then not even a right one is: %s', async (name, way) => {
    const { keys, refused, compared } = keyring();
    const [client, other] = [newClient(), newClient()];
    const transaction = name.endsWith('transaction') ? 'T-1' : undefined;
    const made = await Promise.all(Array.from({ length: burst + 4 }, async () => newKey(keys, 'PASSWORD', transaction)));
    const guesses = await whileCalledBy(client, async () => Promise.all(made.map(async ({ key }) => ended(way(keys, key, 'a guess')))));
    expect(guesses.toSorted()).toEqual([
      ...Array.from({ length: burst }, () => 'ACTIVATION_FAILED'),
      ...Array.from({ length: 4 }, () => 'paced'),
    ]);
    expect([compared(), refused]).toEqual([burst, Array.from({ length: 4 }, () => 'client')]);
    const counted = await Promise.all(made.map(async ({ key }) => (await around.store.run('findKey', key.reference))?.failures_in_row));
    expect(counted.reduce((sum = 0, failures = 0) => sum + failures, 0)).toBe(burst);
    const { key, secret } = await newKey(keys, 'PASSWORD', transaction);
    const right = name.endsWith('transaction') ? 'T-1' : secret;
    if (name !== 'authorize by OTP') {
      expect(await whileCalledBy(client, async () => ended(way(keys, key, right)))).toBe('paced');
      expect(await whileCalledBy(client, async () => ended(way(keyring().keys, key, right)))).toBe('paced');
      expect(compared()).toBe(burst);
      const allowed = transaction === undefined ? 'done' : /done|ACTIVATION_FAILED/;
      expect(await whileCalledBy(other, async () => ended(way(keys, key, right)))).toMatch(allowed);
    }
  });

  it('are not compared with one that was right before, however many come at once', async () => {
    const { keys, compared } = keyring();
    const [client, owner] = [newClient(), newClient()];
    const made = await Promise.all(Array.from({ length: 12 }, async () => newKey(keys)));
    for (const { key, secret } of made)
      expect(await whileCalledBy(owner, async () => sign(keys, key, given('password', secret)))).toBe('done');
    const before = compared();
    // The right ones come last: those before them use up the pace.
    const tried = [...made.slice(0, 10).map(({ key }) => ({ key, secret: 'a guess' })), ...made.slice(10)];
    const told = await whileCalledBy(client, async () =>
      Promise.all(tried.map(async ({ key, secret }) => sign(keys, key, given('password', secret)))),
    );
    expect(told.filter((code) => code === 'done')).toEqual([]);
    expect(compared() - before).toBe(burst);
    for (const { key, secret } of made.slice(10)) {
      expect(await whileCalledBy(owner, async () => sign(keys, key, given('password', secret)))).toBe('done');
    }
  });

  it('of one key lock the key long before they use up what the client has', async () => {
    const { keys } = keyring();
    const client = newClient();
    const [locked, free] = [await newKey(keys), await newKey(keys)];
    await whileCalledBy(client, async () => {
      for (let time = 0; time < lockRule.failuresInRow; time += 1)
        expect(await sign(keys, locked.key, given('password', 'typo'))).toBe('ACTIVATION_FAILED');
      for (let time = 0; time < 20; time += 1) expect(await sign(keys, locked.key, given('password', 'typo'))).toBe('KEY_LOCKED');
      expect(await sign(keys, free.key, given('password', free.secret))).toBe('done');
    });
  });
});

describe('a secret that nobody can guess', () => {
  const failures = async ({ key }: Made): Promise<number | undefined> =>
    (await around.store.run('findKey', key.reference))?.failures_since_success;
  const actions = {
    sign,
    check: async (keys: Keyring, key: KeyRecord, secret: GivenSecret) => ended(keys.verifySecret(key, secret)),
    remove: async (keys: Keyring, key: KeyRecord, secret: GivenSecret) => ended(keys.remove(key, secret)),
    authorise: async (keys: Keyring, key: KeyRecord, secret: GivenSecret) =>
      ended(keys.activationData.authorise(key, { pin: secret }, { digests, signatures: 1, client: 'c' })),
  };

  it.each(Object.entries(actions))(
    'is refused without the token, and counts for its client alone: an authToken, to %s',
    async (_name, act) => {
      const { keys, compared } = keyring();
      const [client, owner] = [newClient(), newClient()];
      const made = await newKey(keys, 'SINGLE_USE');
      const before = compared();
      const tell = async (): Promise<string> =>
        whileCalledBy(client, async () => act(keys, made.key, given('authToken', randomBytes(32).toString('base64url'))));
      for (let time = 0; time < burst; time += 1) expect(await tell()).toBe('ACTIVATION_FAILED');
      expect(await tell()).toBe('paced');
      expect([compared() - before, await failures(made)]).toEqual([0, 0]);
      expect(await whileCalledBy(owner, async () => act(keys, made.key, given('authToken', made.secret)))).toBe('done');
    },
  );

  it.each([
    ['an authToken', 'SINGLE_USE', () => given('authToken', randomBytes(32).toString('base64url'))],
    ['activation data', 'PASSWORD', () => unknownData('4')],
    ['activation data whose identifier is not that of its secret', 'PASSWORD', () => unknownData('0')],
  ] as const)('is counted no more often than the pace lets it, however many come at once: %s', async (_name, protocol, guess) => {
    const { keys, refused } = keyring();
    const [{ key }, known] = [await newKey(keys, protocol), await newKey(keys)];
    const told = await whileCalledBy(newClient(), async () => {
      expect(await sign(keys, known.key, given('password', known.secret))).toBe('done');
      return Promise.all(Array.from({ length: burst + 4 }, async () => sign(keys, key, guess())));
    });
    expect(told.filter((code) => code === 'ACTIVATION_FAILED')).toHaveLength(burst);
    expect(refused).toEqual(Array.from({ length: 4 }, () => 'client'));
  });

  it('counts for the key where the transaction beside it is wrong, which may be guessed', async () => {
    const { keys } = keyring();
    const made = await newKey(keys, 'SINGLE_USE', 'T-1');
    const tell = async (transaction: string | undefined): Promise<string> =>
      sign(keys, made.key, given('authToken', made.secret, transaction));
    expect([await tell('T-2'), await tell(undefined), await failures(made)]).toEqual(['ACTIVATION_FAILED', 'ACTIVATION_FAILED', 2]);
    expect(await tell('T-1')).toBe('done');
  });

  it('of a key that an earlier version made is compared by the token, and still locks nothing', async () => {
    const { keys, compared } = keyring();
    const client = newClient();
    const made = await newKey(keys, 'SINGLE_USE');
    const { secret } = made.key;
    expect(secret?.hash).toHaveLength(32);
    if (secret !== undefined) made.key.secret = { salt: secret.salt, mac: secret.mac };
    const before = compared();
    for (let time = 0; time < burst; time += 1) {
      expect(await whileCalledBy(client, async () => sign(keys, made.key, given('authToken', 'junk')))).toBe('ACTIVATION_FAILED');
    }
    expect(await whileCalledBy(client, async () => sign(keys, made.key, given('authToken', 'junk')))).toBe('paced');
    expect([compared() - before, await failures(made)]).toEqual([burst, 0]);
    expect(await sign(keys, made.key, given('authToken', made.secret))).toBe('done');
  });
});
