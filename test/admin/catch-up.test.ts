import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { catchUp } from '../../src/admin/catch-up.ts';
import type { Lacking, StateComparison } from '../../src/audit/compare-state.ts';
import type { StateChange } from '../../src/audit/effect.ts';
import { newKeyId } from '../../src/token/key-id.ts';
import { StoreHere } from '../support/store-here.ts';

const certificate = 'c'.repeat(40);
const reference = 'a'.repeat(40);
const keyId = newKeyId('identity');

let directory: string;
let store: StoreHere;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'signetd-catch-up-'));
  store = await StoreHere.open(join(directory, 'state.sqlite'));
  await store.run('announce', { key_id: keyId, intent: 'CREATE', created_at: 1 });
  await store.run('insertIdentityKey', {
    ...{ reference, tenant: 'demo', ca: 'FR99', certificate_id: 'ABCD', key_id: keyId, key_type: 'P-256', public_key: Buffer.of(1) },
    ...{ state: 'ACTIVE', secret_salt: Buffer.of(1), secret_mac: Buffer.of(2), secret_stretched: 0, created_at: 1 },
    ...{ failures_in_row: 0, failures_since_success: 0, locked_until: null, seal_salt: null, seal_mac: null },
  });
});
afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true, force: true });
});

/** What the log says of the identity: requests name its certificate, commands its row. */
function lacking(record: number, by: string, change?: StateChange): Lacking {
  const key = by.startsWith('identity') ? reference : certificate;
  const unknown = { client: undefined, spki: undefined, roles: undefined, usedToken: undefined };
  return { ...unknown, record, time: '', by, tenant: 'demo', key, effect: { effect: by, change } };
}

async function confirm(...changes: Lacking[]): Promise<string[]> {
  const comparison: StateComparison = {
    ...{
      log: 'signetd',
      isOlder: true,
      known: 0,
      kept: 0,
      last: changes.length,
      lacking: changes,
      absent: undefined,
      names: [],
      isForeign: false,
      untold: 0,
    },
  };
  const { steps, remedies } = catchUp(comparison, [], store.now());
  await store.commit(steps);
  return remedies.map(({ remedy }) => remedy);
}

const guess = (record: number): Lacking => lacking(record, 'pki/checkKey', { kind: 'failed attempt', identity: reference });
const row = async () => store.run('identityKeyAt', reference);

describe('a state store that is older than the audit log', () => {
  it('counts the guesses at the password of an identity again, since its last unlock', async () => {
    expect(await confirm(guess(1), guess(2))).toEqual(['counted again', 'counted again']);
    expect(await row()).toMatchObject({ failures_in_row: 2, failures_since_success: 2 });
    await confirm(guess(1), guess(2), lacking(3, 'identity unlock'), guess(4));
    expect(await row()).toMatchObject({ failures_in_row: 3, failures_since_success: 3, locked_until: null });
  });

  it('locks an identity whose password was changed', async () => {
    const [remedy] = await confirm(lacking(1, 'pki/changePassword', { kind: 'password', identity: reference }));
    expect(remedy).toBe('locked until signetctl twoddoc identity unlock, since the old password would be valid again');
    expect(await row()).toMatchObject({ failures_since_success: 20, state: 'ACTIVE' });
  });

  it('removes an identity again, and destroys its key', async () => {
    expect(await confirm(lacking(1, 'identity remove'))).toEqual(['ended again']);
    expect(await row()).toMatchObject({ state: 'REMOVED' });
    expect(await store.run('journal')).toMatchObject([{ key_id: keyId, intent: 'DESTROY' }]);
  });
});
