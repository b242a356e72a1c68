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
  const { steps, remedies } = catchUp(comparison, { registered: [], revoked: [] }, store.now());
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

  it('says that another token is not accepted any more, since only the command can do that', async () => {
    expect(await confirm(lacking(1, 'token accept'))).toEqual([
      'lost: to go on with the token that was accepted, give signetctl token accept again',
    ]);
  });

  const ends = Date.now() + 3_600_000;
  const revocationOf = (...serialNumbers: string[]): StateChange => ({
    ...{ kind: 'client revocation', date: 1_700_000_000_000 },
    certificates: serialNumbers.map((serialNumber) => ({ authority: 'client', serialNumber, notAfter: ends })),
  });
  /** Serial numbers and reasons that the next CRL has. */
  async function nextCrl(): Promise<[serialNumbers: string[], reasons: number[]]> {
    const claim = await store.run('claimCrl', {
      ...{ authority: 'client', now: Date.now(), claimedUntil: 0, ignoreClaim: true, minGapMs: 0, endsBefore: 0, madeSince: 0 },
      ...{ signer: 'ab', signerSince: 1, ignoreNewer: false, keepExpired: false },
    });
    const { count, serialNumbers, reasons } = claim?.revoked ?? { count: 0, serialNumbers: new Uint8Array(), reasons: new Uint8Array() };
    const read = Array.from({ length: count }, (_, index) =>
      Buffer.from(serialNumbers.subarray(20 * index, 20 * index + 20))
        .toString('hex')
        .replace(/^0+/, ''),
    );
    return [read.toSorted(), [...reasons]];
  }

  it('puts the certificates of a revoked client on the CRL again, also if their registration is lost', async () => {
    for (const record of [1, 2])
      expect(await confirm(lacking(record, 'client revoke', revocationOf('0a01', '0a02')))).toEqual(['revoked again']);
    expect(await nextCrl()).toEqual([
      ['a01', 'a02'],
      [0, 0],
    ]);
  });

  it('puts them there also if the key was registered again after that, twice in a row', async () => {
    for (const serialNumber of ['0b01', '0b02']) {
      const spki = 'ab'.repeat(8);
      const changes = [lacking(1, 'client revoke', revocationOf(serialNumber)), lacking(2, 'client add')];
      await confirm(...changes.map((change) => ({ ...change, spki })));
    }
    expect((await nextCrl())[0]).toEqual(['a01', 'a02', 'b01', 'b02']);
  });
});
