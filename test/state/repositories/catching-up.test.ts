import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { holdReason } from '../../../src/state/tables/revocation.ts';
import { newKeyId } from '../../../src/token/key-id.ts';
import { identityRow, storedKey } from '../rows.ts';
import { storeOfRows } from './store-of-rows.ts';

const opened = storeOfRows();
const keyCompromise = 1;
const superseded = 4;

let reference = '';
let authority = '';
let serialNumber = '';
beforeEach(async () => {
  reference = await storedKey(opened.store);
  [authority, serialNumber] = [randomUUID(), randomUUID()];
});

const revoke = async (reason: number, at: number, sha1: string | undefined = reference): Promise<void> =>
  opened.store.run('revokeAgain', { sha1, authority, serial_number: serialNumber, reason, revoked_at: at, not_after: 9000 });
const release = async (sha1: string | undefined = reference): Promise<void> =>
  opened.store.run('releaseAgain', { sha1, authority, serialNumber });
const revocation = (): unknown => opened.rows('select reason, revoked_at from revocations where authority = ?', authority)[0];
const state = (of = reference): unknown => opened.rows('select state from keys where reference = ?', of)[0]?.['state'];
const revision = (): unknown => opened.rows('select revision from crl_states where authority = ?', authority)[0]?.['revision'];
const announced = (of: string): unknown[] =>
  opened.rows('select intent, journal.created_at from key_journal as journal join keys using (key_id) where reference = ?', of).slice();

describe('a revocation', () => {
  it('is repeated with its key, and the next CRL has it', async () => {
    await revoke(keyCompromise, 100);
    expect([revocation(), state(), revision()]).toEqual([{ reason: keyCompromise, revoked_at: 100 }, 'REVOKED', 1]);
  });

  it('takes the place of a hold, and nothing takes its own', async () => {
    await revoke(holdReason, 100);
    expect([revocation(), state()]).toEqual([{ reason: holdReason, revoked_at: 100 }, 'ON_HOLD']);
    await revoke(superseded, 200);
    expect([revocation(), state()]).toEqual([{ reason: superseded, revoked_at: 200 }, 'REVOKED']);
    await revoke(holdReason, 300);
    await revoke(keyCompromise, 300);
    expect([revocation(), state()]).toEqual([{ reason: superseded, revoked_at: 200 }, 'REVOKED']);
    expect(revision()).toBe(4);
  });

  it('of a certificate that has no key here changes no key', async () => {
    await opened.store.run('revokeAgain', {
      ...{ sha1: undefined, authority, serial_number: serialNumber, reason: keyCompromise, revoked_at: 1, not_after: 2 },
    });
    expect([revocation(), state()]).toEqual([{ reason: keyCompromise, revoked_at: 1 }, 'ACTIVE']);
  });

  it('brings no key back that has ended', async () => {
    const removed = await storedKey(opened.store, { state: 'REMOVED' });
    await revoke(keyCompromise, 100, removed);
    expect(state(removed)).toBe('REMOVED');
  });
});

describe('a release', () => {
  it('ends a hold and lets its key be used', async () => {
    await revoke(holdReason, 100);
    await release();
    expect([revocation(), state(), revision()]).toEqual([undefined, 'ACTIVE', 2]);
  });

  it('does nothing where there is no hold: what is revoked stays revoked', async () => {
    await release();
    expect([state(), revision()]).toEqual(['ACTIVE', undefined]);
    await revoke(keyCompromise, 100);
    await release();
    expect([revocation(), state(), revision()]).toEqual([{ reason: keyCompromise, revoked_at: 100 }, 'REVOKED', 1]);
  });

  it('is of this serial number of this authority', async () => {
    await revoke(holdReason, 100);
    await opened.store.run('releaseAgain', { sha1: reference, authority, serialNumber: 'another' });
    await opened.store.run('releaseAgain', { sha1: reference, authority: 'another', serialNumber });
    expect([revocation(), state()]).toEqual([{ reason: holdReason, revoked_at: 100 }, 'ON_HOLD']);
  });

  it('lets no key be used that was removed meanwhile', async () => {
    await revoke(holdReason, 100);
    await opened.store.run('endKeyAgain', { reference, state: 'REMOVED', now: 5 });
    await release();
    expect(state()).toBe('REMOVED');
  });
});

describe('the end of a key', () => {
  it.each(['CONSUMED', 'REMOVED'] as const)('%s announces its destruction once', async (to) => {
    await opened.store.run('endKeyAgain', { reference, state: to, now: 5 });
    expect([state(), announced(reference)]).toEqual([to, [{ intent: 'DESTROY', created_at: 5 }]]);
    await opened.store.run('endKeyAgain', { reference, state: to, now: 6 });
    expect(announced(reference)).toEqual([{ intent: 'DESTROY', created_at: 5 }]);
  });

  it('is not repeated of one that has ended: nothing is announced', async () => {
    for (const ended of ['CONSUMED', 'REMOVED']) {
      const key = await storedKey(opened.store, { state: ended });
      await opened.store.run('endKeyAgain', { reference: key, state: 'REMOVED', now: 5 });
      expect([state(key), announced(key)]).toEqual([ended, []]);
    }
    expect(state()).toBe('ACTIVE');
  });

  it('of an identity announces its destruction too', async () => {
    const row = identityRow();
    await opened.store.run('announce', { key_id: row.key_id, intent: 'CREATE', created_at: 1 });
    await opened.store.run('insertIdentityKey', row);
    for (const now of [5, 6]) await opened.store.run('removeIdentityAgain', { reference: row.reference, now });
    expect(opened.rows('select intent, created_at from key_journal where key_id = ?', row.key_id)).toEqual([
      { intent: 'DESTROY', created_at: 5 },
    ]);
    expect(await opened.store.run('identityKeyAt', row.reference)).toMatchObject({ state: 'REMOVED' });
  });
});

describe('failures', () => {
  const rule = { failuresInRow: 5, lockMs: 100, failuresSinceSuccess: 20, now: 1000 };
  const counters = (of = reference): unknown =>
    opened.rows('select failures_in_row, failures_since_success, locked_until from keys where reference = ?', of)[0];

  it('are counted again, and lock the key from the fifth on', async () => {
    const count = async (failures: number): Promise<void> => opened.store.run('countFailuresAgain', { reference, failures, rule });
    await count(4);
    expect(counters()).toEqual({ failures_in_row: 4, failures_since_success: 4, locked_until: null });
    await count(1);
    expect(counters()).toEqual({ failures_in_row: 5, failures_since_success: 5, locked_until: 1100 });
    const other = await storedKey(opened.store);
    expect(counters(other)).toEqual({ failures_in_row: 0, failures_since_success: 0, locked_until: null });
  });

  it('lock a key for an operator, and never count fewer than there are', async () => {
    const lock = async (failuresSinceSuccess: number): Promise<void> =>
      opened.store.run('lockForOperator', { reference, failuresSinceSuccess });
    await lock(20);
    expect(counters()).toMatchObject({ failures_since_success: 20 });
    await lock(10);
    expect(counters()).toMatchObject({ failures_since_success: 20 });
  });
});

it('the private key of a record that is lost is neither given away nor destroyed as unfinished', async () => {
  const pooled = (): string[] => opened.rows('select key_id from key_pool').map((row) => String(row['key_id']));
  const journal = (): unknown[] => opened.rows('select key_id, intent from key_journal where created_at = 77').slice();
  const [inPool, creating, ending, other] = [newKeyId('caller'), newKeyId('caller'), newKeyId('caller'), newKeyId('caller')];
  for (const id of [inPool, other]) {
    await opened.store.run('announce', { key_id: id, intent: 'CREATE', created_at: 1 });
    await opened.store.run('fillPool', {
      ...{ key_id: id, key_type: 'P-256', public_key: new Uint8Array(), created_at: 1, seal_salt: null, seal_mac: null },
    });
  }
  await opened.store.run('announce', { key_id: creating, intent: 'CREATE', created_at: 77 });
  await opened.store.run('announce', { key_id: ending, intent: 'DESTROY', created_at: 77 });
  for (const id of [inPool, creating, ending]) await opened.store.run('leaveKeyAlone', id);
  expect([pooled(), journal()]).toEqual([[other], [{ key_id: ending, intent: 'DESTROY' }]]);
});

it('a token of an identity provider is used again without a fault', async () => {
  const id = randomUUID();
  for (const end of [5, 6]) await opened.store.run('useIdentityTokenAgain', { id, ends_at: end });
  expect(opened.rows('select ends_at from identity_tokens where id = ?', id)).toEqual([{ ends_at: 5 }]);
});

it('CRLs are withdrawn: none is served before the next one, whose number is higher than any before', async () => {
  const claimed = { claimedUntil: 9, ignoreClaim: true, minGapMs: 0, endsBefore: 0, madeSince: 0, signerSince: 1, ignoreNewer: false };
  const make = async (of: string, seconds: number): Promise<number | undefined> => {
    const request = { authority: of, now: seconds * 1000, signer: 'key', keepExpired: true, ...claimed };
    return (await opened.store.run('claimCrl', request))?.number;
  };
  const publish = async (of: string, number: number): Promise<boolean> =>
    opened.store.run('publishCrl', {
      ...{ authority: of, number, der: Uint8Array.of(1), published_revision: 0, signer: 'key' },
      ...{ signer_since: 1, this_update: 1, next_update: 1_000_000 },
    });
  const [low, high] = [randomUUID(), randomUUID()];
  expect([await make(low, 100), await make(high, 700)]).toEqual([100, 700]);
  expect([await publish(low, 100), await publish(high, 700)]).toEqual([true, true]);
  await opened.store.run('withdrawCrls', { least: 500, last: [] });
  expect(await opened.store.run('publishedCrl', low)).toBeUndefined();
  expect(await opened.store.run('publishedCrl', high)).toBeUndefined();
  // The revision is another one: a CRL is due.
  expect([await make(low, 101), await make(high, 101)]).toEqual([501, 701]);
});

it('the last CRL of a retired authority is not withdrawn, and any other of it is, twice in a row', async () => {
  const endsAt = 5_000_000;
  const claimed = {
    claimedUntil: 9,
    ignoreClaim: true,
    minGapMs: 0,
    endsBefore: Infinity,
    madeSince: 0,
    signerSince: 1,
    ignoreNewer: true,
  };
  const publish = async (of: string, nextUpdate: number): Promise<void> => {
    const claim = await opened.store.run('claimCrl', { authority: of, now: 100_000, signer: 'key', keepExpired: true, ...claimed });
    await opened.store.run('publishCrl', {
      ...{ authority: of, number: claim?.number ?? 0, der: Uint8Array.of(1), published_revision: 0, signer: 'key' },
      ...{ signer_since: 1, this_update: 1, next_update: nextUpdate },
    });
  };
  const [last, never, ordinary, notRetired] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  await publish(last, endsAt);
  await publish(never, 9 * endsAt);
  for (const least of [500, 900]) {
    await publish(ordinary, endsAt - 1);
    await publish(notRetired, endsAt);
    await opened.store.run('withdrawCrls', { least, last: [last, never, ordinary].map((of) => ({ authority: of, endsAt })) });
    const served = await Promise.all([last, never, ordinary, notRetired].map(async (of) => opened.store.run('publishedCrl', of)));
    expect(served.map((crl) => crl?.next_update)).toEqual([endsAt, 9 * endsAt, undefined, undefined]);
  }
});
