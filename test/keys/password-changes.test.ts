import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { tenantId } from '../../src/clients/caller.ts';
import type { GivenSecret } from '../../src/keys/credentials.ts';
import { Keyring } from '../../src/keys/keyring.ts';
import type * as Stretching from '../../src/keys/stretching.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import type { TokenClient } from '../../src/token/client/token-client.ts';
import { certificateRow } from '../support/certificate-row.ts';
import { Gate } from '../support/gate.ts';
import { tokenAndStore, type TokenAndStore } from '../support/token-and-store.ts';

const gate = vi.hoisted(() => ({ pass: async (): Promise<void> => Promise.resolve() }));

/** The real stretching, which the gate holds back. */
vi.mock(import('../../src/keys/stretching.ts'), async (load) => {
  const real: typeof Stretching = await load();
  class Slow extends real.StretchedPasswords {
    override async of(...args: Parameters<Stretching.StretchedPasswords['of']>): Promise<Uint8Array> {
      const stretched = await super.of(...args);
      await gate.pass();
      return stretched;
    }
  }
  return { ...real, StretchedPasswords: Slow };
});

const tenant = tenantId('demo');
const toBeSigned = { algorithm: { scheme: 'ECDSA', hash: 'sha256' }, digests: [new Uint8Array(32)], documents: [] } as const;
const given = (password: string): GivenSecret => ({ member: 'password', bytes: Buffer.from(password), transactionId: undefined });

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

describe('a password that is changed while another request has it stretched', () => {
  it('is compared as it was, salt and MAC together: it activates nothing any more, and counts as no failure', async () => {
    const keys = new Keyring(store, token);
    const { reference, secret } = await keys.create({
      tenant,
      type: 'P-256',
      protocol: 'PASSWORD',
      subscriber: {},
      issue: async () => Promise.resolve({ row: certificateRow() }),
    });
    const key = await keys.find(tenant, reference);
    await keys.changePassword(key, given(secret.password ?? ''), 'the first password');
    const sign = async (password: string): Promise<number> =>
      (await keys.sign(key, given(password), toBeSigned, async (values) => Promise.resolve(values))).length;
    const slow = new Gate();
    gate.pass = async () => slow.pass();
    slow.close();
    const late = expect(sign('the first password')).rejects.toMatchObject({ code: 'ACTIVATION_FAILED' });
    await slow.arrived;
    await keys.changePassword(key, given('the first password'), 'the second password');
    slow.open();
    await late;
    expect(await store.run('findKey', reference)).toMatchObject({ failures_in_row: 0, failures_since_success: 0, reserved: 0 });
    expect(await sign('the second password')).toBe(1);
  });
});
