import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import type { GivenSecret } from '../../src/keys/credentials.ts';
import type { KeyReferenceId } from '../../src/keys/key-record.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import type { CertificateRow } from '../../src/state/tables/certificates.ts';
import { TokenClient } from '../../src/token/client/token-client.ts';
import type { Token } from '../../src/token/token.ts';
import { databases } from '../state/databases.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { Gate } from '../support/gate.ts';
import { scratchToken, type ScratchToken } from '../support/scratch-token.ts';
import { asShared } from '../support/shared-store.ts';
import { recordingLog } from '../support/silent-log.ts';
import { tokenWith } from '../support/token-with.ts';

const tenant = tenantId('demo');
const toBeSigned = { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, digests: [new Uint8Array(32)], documents: [] } as const;
const digests = [{ id: 'd', hash: 'sha256', value: new Uint8Array(32) }] as const;
const given = (member: GivenSecret['member'], secret: string | undefined): GivenSecret => ({
  member,
  bytes: Buffer.from(secret ?? ''),
  transactionId: undefined,
});

interface Instance {
  readonly store: StateStore;
  readonly keys: Keyring;
}

let scratch: ScratchToken;
let token: TokenClient;
const gate = new Gate();

beforeAll(async () => {
  scratch = scratchToken();
  token = new TokenClient(scratch.config, scratch.configPath, recordingLog());
  await token.start();
});

afterAll(async () => {
  await token.stop();
  scratch.remove();
});

/** The token, whose signatures the gate holds back. */
const slowToken = (): Token =>
  tokenWith(token, {
    signWithProof: async (...args) => {
      const outcome = await token.signWithProof(...args);
      await gate.pass();
      return outcome;
    },
  });

interface MadeKey {
  readonly reference: KeyReferenceId;
  readonly row: CertificateRow;
  readonly own: GivenSecret;
}

/** What ends the right to sign, as another request does it; when it returns, its caller has been answered. */
const changes = {
  revocation: async (other: Instance, key: MadeKey) => revoke(other, key, 1),
  hold: async (other: Instance, key: MadeKey) => revoke(other, key, 6),
  removal: async ({ keys }: Instance, { reference, own }: MadeKey) => keys.remove(await keys.find(tenant, reference), own),
  'removal by the operator': async ({ keys }: Instance, { reference }: MadeKey) => keys.operator.remove(reference, []),
  'another password': async ({ keys }: Instance, { reference, own }: MadeKey) =>
    keys.changePassword(await keys.find(tenant, reference), own, 'another password'),
  lock: async ({ keys }: Instance, { reference }: MadeKey) => {
    for (let attempt = 0; attempt < 5; attempt += 1)
      await keys.verifySecret(await keys.find(tenant, reference), given('password', 'wrong'));
  },
} as const;
type ChangeName = keyof typeof changes;

async function revoke({ store, keys }: Instance, { reference, row }: MadeKey, reason: number): Promise<void> {
  const { authority, serial_number, not_after, sha1 } = row;
  await store.run('revoke', { sha1, heldSince: null, authority, serial_number, reason, revoked_at: 1000, not_after });
  await keys.stateChanged(await keys.find(tenant, reference));
}

describe.each([
  ['one instance on SQLite', databases.SQLite(), 1, (store: StateStore) => store],
  ['one instance on SQLite, by the general way', databases.SQLite(), 1, asShared],
  ['two instances on PostgreSQL', databases.PostgreSQL(), 2, (store: StateStore) => store],
] as const)('%s', (_name, database, instances, storeAround) => {
  let a: Instance;
  let b: Instance;

  beforeAll(async () => {
    await database.start();
    const config = await database.fresh();
    const instance = async (): Promise<Instance> => {
      const store = storeAround(await openStateStore(config, recordingLog()));
      return { store, keys: new Keyring(store, slowToken()) };
    };
    a = await instance();
    b = instances === 1 ? a : await instance();
  });

  afterAll(async () => {
    await a.store.close();
    if (b !== a) await b.store.close();
    await database.stop();
  });

  async function newKey(protocol: 'PASSWORD' | 'OTP' | 'SINGLE_USE'): Promise<MadeKey> {
    const row = certificateRow();
    const { reference, secret } = await a.keys.create({
      tenant,
      type: 'P-256',
      protocol,
      subscriber: {},
      issue: async () => Promise.resolve({ row }),
    });
    return {
      reference,
      row,
      own: protocol === 'SINGLE_USE' ? given('authToken', secret.authToken) : given('password', secret.password),
    };
  }

  const sign = async (reference: KeyReferenceId, secret: GivenSecret): Promise<number> => {
    const key = a.keys.findAtOnce(tenant, reference) ?? (await a.keys.find(tenant, reference));
    return (await a.keys.sign(key, secret, toBeSigned, async (values) => Promise.resolve(values))).length;
  };

  /** Signs, and lets the change happen in between. Answers the code, or `delivered`. */
  async function signAround(key: MadeKey, secret: GivenSecret, change: ChangeName): Promise<unknown> {
    gate.close();
    const outcome = sign(key.reference, secret).then(
      () => 'delivered',
      (error: unknown) => (error instanceof Error && 'code' in error ? error.code : error),
    );
    await Promise.race([gate.arrived, outcome]);
    await changes[change](b, key);
    gate.open();
    return outcome;
  }

  it.each([
    ['KEY_STATE', 'revocation'],
    ['KEY_STATE', 'hold'],
    ['KEY_STATE', 'removal'],
    ['KEY_STATE', 'removal by the operator'],
    ['ACTIVATION_FAILED', 'another password'],
    ['KEY_LOCKED', 'lock'],
  ] as const)('deliver no signature by a remembered password: %s after: %s', async (code, change) => {
    const key = await newKey('PASSWORD');
    expect(await sign(key.reference, key.own)).toBe(1);
    expect(await signAround(key, key.own, change)).toBe(code);
  });

  it.each([
    ['KEY_STATE', 'revocation'],
    ['KEY_STATE', 'hold'],
    ['KEY_STATE', 'removal'],
    ['ACTIVATION_FAILED', 'another password'],
  ] as const)('deliver no signature by a password at its first use: %s after: %s', async (code, change) => {
    const key = await newKey('PASSWORD');
    expect(await signAround(key, key.own, change)).toBe(code);
    expect(await a.store.run('findKey', key.reference)).toMatchObject({ reserved: 0, failures_in_row: 0 });
  });

  it.each([
    ['KEY_STATE', 'revocation'],
    ['KEY_STATE', 'hold'],
    ['KEY_STATE', 'removal by the operator'],
  ] as const)('deliver no signature by a one-time password or an authToken: %s after: %s', async (code, change) => {
    const byOtp = await newKey('OTP');
    const otp = given('password', await a.keys.makeOtp(await a.keys.find(tenant, byOtp.reference), { action: 'SIGN', digests }));
    expect(await signAround(byOtp, otp, change)).toBe(code);
    const once = await newKey('SINGLE_USE');
    expect(await signAround(once, once.own, change)).toBe(code);
    expect((await a.store.run('findKey', once.reference))?.state).not.toBe('CONSUMED');
  });

  it.each([
    ['KEY_STATE', 'revocation'],
    ['KEY_STATE', 'hold'],
    ['KEY_STATE', 'removal'],
    ['KEY_STATE', 'removal by the operator'],
    ['ACTIVATION_FAILED', 'another password'],
  ] as const)('deliver nothing to requests in progress once a change has answered: %s after: %s', async (code, change) => {
    const key = await newKey('PASSWORD');
    await sign(key.reference, key.own);
    let isAnswered = false;
    let delivered = 0;
    let deliveredLate = 0;
    const requests = Array.from({ length: 4 }, async (): Promise<unknown> => {
      for (;;) {
        // The answers of two instances may come in another order than that in which the database decided.
        const mayStillBeDelivered = instances === 2 && !isAnswered;
        try {
          await sign(key.reference, key.own);
          delivered += 1;
          if (isAnswered && !mayStillBeDelivered) deliveredLate += 1;
        } catch (error) {
          return error instanceof Error && 'code' in error ? error.code : error;
        }
      }
    });
    await vi.waitUntil(() => delivered > 20, { timeout: 60_000, interval: 5 });
    await changes[change](b, key);
    isAnswered = true;
    expect(await Promise.all(requests)).toEqual(Array.from({ length: 4 }, () => code));
    expect(deliveredLate).toBe(0);
  });

  it('deliver what a one-time password signed although the key has another password by now', async () => {
    const key = await newKey('PASSWORD');
    const otp = given('password', await a.keys.makeOtp(await a.keys.find(tenant, key.reference), { action: 'SIGN', digests }));
    expect(await signAround(key, otp, 'another password')).toBe('delivered');
  });

  it.each(['first', 'second'] as const)(
    'deliver nothing that is still put together when the key is revoked, at the %s use',
    async (use) => {
      const key = await newKey('PASSWORD');
      if (use === 'second') await sign(key.reference, key.own);
      const started = Promise.withResolvers<undefined>();
      const revoked = Promise.withResolvers<undefined>();
      const signed = a.keys.sign(await a.keys.find(tenant, key.reference), key.own, toBeSigned, async (values) => {
        started.resolve(undefined);
        await revoked.promise;
        return values;
      });
      const refused = expect(signed).rejects.toMatchObject({ code: 'KEY_STATE' });
      await started.promise;
      await changes.revocation(b, key);
      revoked.resolve(undefined);
      await refused;
    },
  );
});
