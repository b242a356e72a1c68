import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { catchUp } from '../../src/admin/catch-up.ts';
import type { Lacking, StateComparison } from '../../src/audit/compare-state.ts';
import type { StateChange } from '../../src/audit/effect.ts';
import { deciding, step } from '../../src/state/step.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import type { ClientRow } from '../../src/state/tables/clients.ts';
import { openStateStore } from '../../src/state/threaded-store.ts';
import { databases } from '../state/databases.ts';
import { recordingLog } from '../support/silent-log.ts';

const publicKey = '0123456789abcdef'.repeat(4);
const another = 'fedcba9876543210'.repeat(4);
const minute = (n: number): number => Date.parse('2030-01-01T00:00:00.000Z') + 60_000 * n;
const ends = minute(1_000_000);

const clientOf = (key: string): ClientRow => ({
  ...{ spki_sha256: key, name: 'late', tenant: 'demo', roles: '["signature"]', created_at: minute(0) },
  ...{ not_before: minute(0), not_after: ends },
});

/** What the log says of a command; `n`: its record, and its minute. */
function command(n: number, by: 'client add' | 'client revoke', more: Partial<Lacking> & { readonly change?: StateChange } = {}): Lacking {
  const { change, ...rest } = more;
  return {
    ...{ record: n, time: new Date(minute(n)).toISOString(), by, client: 'late', tenant: 'demo', roles: ['signature'] },
    ...{ spki: publicKey.slice(0, 16), key: undefined, usedToken: undefined, effect: { effect: by, change }, ...rest },
  };
}
const certificate = {
  serialNumber: '0a',
  subject: 'CN=late',
  notBefore: new Date(minute(1)).toISOString(),
  notAfter: new Date(ends).toISOString(),
};
const add = (n: number, more: Partial<Lacking> = {}): Lacking => command(n, 'client add', { certificate, authority: 'client', ...more });
const revocation = (n: number, key = publicKey): StateChange => ({
  ...{ kind: 'client revocation', date: minute(n), at: minute(n) + 7, registered: minute(1) + 3, notAfter: ends, publicKey: key },
  certificates: [{ authority: 'client', serialNumber: '0a', notAfter: ends }],
});
const revoke = (n: number, more: Partial<Lacking> = {}): Lacking => command(n, 'client revoke', { change: revocation(n), ...more });
/** As versions before recorded it, of a client of another CA. */
const revokeOfBefore = (n: number): Lacking => command(n, 'client revoke');

describe.each(Object.entries(databases))('clients of a state store in %s that is older than the audit log', (_, make) => {
  const database = make();
  let store: StateStore;
  beforeAll(async () => database.start(), 120_000);
  beforeEach(async () => {
    store = await openStateStore(await database.fresh(), recordingLog());
  });
  afterEach(async () => store.close());
  afterAll(async () => database.stop());

  async function confirm(...lacking: Lacking[]): Promise<string[]> {
    const comparison: StateComparison = {
      ...{ log: 'signetd', isOlder: true, known: 0, kept: 0, last: lacking.length, lacking, absent: undefined },
      ...{ names: [], isForeign: false, untold: 0 },
    };
    const known = { registered: await store.run('listClients'), revoked: await store.run('listRevokedClients') };
    const { steps, remedies } = catchUp(comparison, known, store.now());
    await store.commit(steps);
    return remedies.map(({ remedy, isNoted }) => `${isNoted ? 'note: ' : ''}${remedy}`);
  }
  /** As `client add` does, without `--again` unless it is given. */
  async function register(key = publicKey, again = false): Promise<boolean> {
    const [isAdmitted] = await store.commit([
      deciding(step('admitKey', { spkiSha256: key, again })),
      step('registerClient', clientOf(key)),
    ]);
    return isAdmitted;
  }
  const registered = async () => (await store.run('listClients')).map(({ spki_sha256: key }) => key);
  const revoked = async () => store.run('listRevokedClients');

  it.each(['registered after the backup', 'registered before it'])(
    'a client is revoked, at the time of its revocation: %s',
    async (when) => {
      const isKnown = when === 'registered before it';
      if (isKnown) await register();
      const said = isKnown ? await confirm(revoke(2)) : await confirm(add(1), revoke(2));
      expect(said).toEqual([...(isKnown ? [] : ['note: revoked later (record 2): do not register it again']), 'revoked again']);
      const row = { spki_sha256: publicKey, name: 'late', tenant: 'demo', revoked_at: minute(2) + 7, not_after: ends };
      expect(await revoked()).toEqual([{ ...row, registered_at: isKnown ? minute(0) : minute(1) + 3 }]);
      expect([await registered(), await register()]).toEqual([[], false]);
      expect([await register(publicKey, true), await registered(), await revoked()]).toEqual([true, [publicKey], []]);
    },
  );

  it('a client is revoked that a record of an earlier version names by 16 digits, twice in a row', async () => {
    for (const n of [1, 2]) {
      expect(await confirm(add(1), revokeOfBefore(2))).toHaveLength(2);
      expect([n, await revoked()]).toMatchObject([
        n,
        [{ spki_sha256: publicKey.slice(0, 16), registered_at: minute(1), revoked_at: minute(2) }],
      ]);
      expect([await register(), await register(another)]).toEqual([false, true]);
    }
    expect([await register(publicKey, true), await revoked()]).toEqual([true, []]);
  });

  it('of a client that was revoked and registered again, the last word of the log counts', async () => {
    const again = { again: true };
    expect(await confirm(add(1), revoke(2), add(3, again))).toEqual([
      'registered again later (record 3)',
      'registered again later (record 3)',
      'note: lost: register late again',
    ]);
    expect([await revoked(), await register()]).toEqual([[], true]);
    expect(await confirm(revoke(2), add(3, { ...again, client: 'later' }))).toEqual(['registered again later (record 3)', 'changed again']);
    expect([(await store.run('listClients')).map(({ name }) => name), await revoked()]).toEqual([['later'], []]);
    expect(await confirm(add(1), revoke(2), add(3, again), revoke(4))).toEqual([
      'note: revoked later (record 4): do not register it again',
      'revoked again',
      'note: revoked later (record 4): do not register it again',
      'revoked again',
    ]);
    expect([await registered(), await revoked()]).toMatchObject([[], [{ revoked_at: minute(4) + 7 }]]);
  });

  it('a registration after the revocation, without --again, was committed before it', async () => {
    expect(await confirm(revoke(2), add(3))).toEqual(['revoked again', 'note: revoked later (record 2): do not register it again']);
    expect(await register()).toBe(false);
  });

  it('a client that the store knows as revoked stays so, unless it was registered again later', async () => {
    await confirm(revoke(5));
    const stays = 'note: its key was revoked (2030-01-01T00:05:00.007Z, client list --revoked): do not register it again';
    // In the log of another instance.
    for (const more of [{}, { again: true as const }]) expect(await confirm(add(4, more))).toEqual([stays]);
    expect(await register()).toBe(false);
    expect(await confirm(revoke(3))).toEqual(['revoked again']);
    expect(await revoked()).toMatchObject([{ revoked_at: minute(5) + 7 }]);
    expect(await confirm(add(6, { again: true }))).toEqual(['note: lost: register late again']);
    expect(await register()).toBe(true);
  });

  it('tells clients of one name apart', async () => {
    const renewed = { spki: another.slice(0, 16) };
    expect(await confirm(add(1), add(2, renewed), revoke(3))).toEqual([
      'note: revoked later (record 3): do not register it again',
      'note: lost: register late again',
      'revoked again',
    ]);
    expect([await register(), await register(another)]).toEqual([false, true]);
  });

  it('has the certificate of a renewal on the CRL if the client is revoked later', async () => {
    await register();
    expect(await confirm(add(1))).toEqual(['changed again']);
    expect(await store.run('clientCertificatesOf', publicKey)).toMatchObject([
      { authority: 'client', serial_number: '0a', not_after: ends },
    ]);
    await confirm(revokeOfBefore(2));
    expect(await store.run('clientCertificatesOf', publicKey)).toEqual([]);
    expect(await revoked()).toMatchObject([{ spki_sha256: publicKey }]);
  });
});
