import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import { holdReason } from '../../../src/state/tables/revocation.ts';
import { keyRows } from '../rows.ts';
import { storeOfRows } from './store-of-rows.ts';

const opened = storeOfRows();
const changed = { code: 'CERTIFICATE_CHANGED' };

interface Certified {
  readonly sha1: string;
  readonly authority: string;
  readonly serialNumber: string;
}

let one: Certified;
beforeEach(async () => {
  one = await certified();
});

/** A key with its certificate, each of an authority of its own. */
async function certified(authority: string = randomUUID(), serialNumber: string = randomUUID()): Promise<Certified> {
  const { key, certificate } = keyRows();
  await opened.store.run('announce', { key_id: key.key_id, intent: 'CREATE', created_at: 1 });
  await opened.store.run('insertKey', { key, certificate: { ...certificate, authority, serial_number: serialNumber } });
  return { sha1: key.reference, authority, serialNumber };
}
const revoke = async (of: Certified, reason: number, at: number, heldSince: number | null = null): Promise<void> => {
  const { sha1, authority, serialNumber } = of;
  const revocation = { authority, serial_number: serialNumber, reason, revoked_at: at, not_after: 9_000 };
  await opened.store.run('revoke', { sha1, heldSince, ...revocation });
};
const release = async ({ sha1, authority, serialNumber }: Certified): Promise<void> =>
  opened.store.run('releaseHold', { sha1, authority, serialNumber });
const status = async ({ sha1 }: Certified): Promise<unknown> => {
  const found = await opened.store.run('findCertificate', sha1);
  return [found?.reason, found?.revoked_at, opened.rows('select state from keys where reference = ?', sha1)[0]?.['state']];
};
const revision = ({ authority }: Certified): unknown =>
  opened.rows('select revision from crl_states where authority = ?', authority)[0]?.['revision'];

describe('a certificate', () => {
  it('is revoked once, with its key', async () => {
    expect(await status(one)).toEqual([null, null, 'ACTIVE']);
    await revoke(one, 1, 100);
    await expect(revoke(one, 4, 200)).rejects.toMatchObject(changed);
    await expect(revoke(one, 4, 200, 100)).rejects.toMatchObject(changed);
    expect([await status(one), revision(one)]).toEqual([[1, 100, 'REVOKED'], 1]);
  });

  it('is revoked for good from the date of its hold, if it is still on that hold', async () => {
    await revoke(one, holdReason, 100);
    expect(await status(one)).toEqual([holdReason, 100, 'ON_HOLD']);
    await expect(revoke(one, 4, 200)).rejects.toMatchObject(changed);
    await expect(revoke(one, 4, 200, 99)).rejects.toMatchObject(changed);
    expect(await status(one)).toEqual([holdReason, 100, 'ON_HOLD']);
    await revoke(one, 4, 200, 100);
    expect([await status(one), revision(one)]).toEqual([[4, 100, 'REVOKED'], 2]);
  });

  it('is released from hold, and from nothing else', async () => {
    await expect(release(one)).rejects.toMatchObject(changed);
    await revoke(one, holdReason, 100);
    await expect(release({ ...one, serialNumber: 'another' })).rejects.toMatchObject(changed);
    await expect(release({ ...one, authority: 'another' })).rejects.toMatchObject(changed);
    await release(one);
    expect([await status(one), revision(one)]).toEqual([[null, null, 'ACTIVE'], 2]);
    await revoke(one, 1, 300);
    await expect(release(one)).rejects.toMatchObject(changed);
    expect([await status(one), revision(one)]).toEqual([[1, 300, 'REVOKED'], 3]);
  });

  it('leaves the key as it is that has ended', async () => {
    const end = { reference: one.sha1, from: ['ACTIVE'], to: 'REMOVED', destroys: true, now: 1 };
    await opened.store.run('changeKeyState', end);
    await revoke(one, holdReason, 100);
    expect(await status(one)).toEqual([holdReason, 100, 'REMOVED']);
    await release(one);
    expect(await status(one)).toEqual([null, null, 'REMOVED']);
  });

  it('has the status of its own serial number and its own authority', async () => {
    const others = [await certified(one.authority), await certified(randomUUID(), one.serialNumber)];
    await revoke(one, 1, 100);
    for (const other of others) expect(await status(other)).toEqual([null, null, 'ACTIVE']);
    await revoke(others[0] ?? one, holdReason, 200);
    const statuses = await opened.store.run('serialStatuses', {
      authority: one.authority,
      serialNumbers: [one.serialNumber, 'of nobody', others[1]?.serialNumber ?? ''],
    });
    const issued = { serial_number: one.serialNumber, reason: null, revoked_at: null };
    expect(statuses).toEqual([issued, { serial_number: one.serialNumber, reason: 1, revoked_at: 100 }]);
  });
});

describe('a CRL', () => {
  const due = { claimedUntil: 0, ignoreClaim: true, minGapMs: 0, endsBefore: 0, madeSince: 0, signerSince: 1, ignoreNewer: false };
  const revoked = async (authority: string, more: { now?: number; keepExpired?: boolean } = {}): Promise<unknown> => {
    const claim = await opened.store.run('claimCrl', { authority, now: 1_000_000, signer: 'key', keepExpired: true, ...due, ...more });
    if (claim === undefined) return undefined;
    const { count, serialNumbers, revokedAt, reasons } = claim.revoked;
    const numbers = Buffer.from(serialNumbers);
    return Array.from({ length: count }, (_, index) => ({
      number: numbers.toString('hex', 20 * index, 20 * (index + 1)),
      ...{ reason: reasons[index], at: revokedAt[index] },
    })).toSorted((left, right) => (left.number < right.number ? -1 : 1));
  };

  it('has every certificate that is revoked or on hold, with its whole serial number', async () => {
    const authority = randomUUID();
    const numbers = ['01', 'ff'.repeat(20), `0${'7'.repeat(15)}`];
    for (const [index, serialNumber] of numbers.entries())
      await revoke(await certified(authority, serialNumber), index === 1 ? holdReason : 1, 1_700_000_000_000 + index);
    await revoke(await certified(), 1, 5);
    expect(await revoked(authority)).toEqual([
      { number: `${'0'.repeat(38)}01`, reason: 1, at: 1_700_000_000_000 },
      { number: `${'0'.repeat(24)}0${'7'.repeat(15)}`, reason: 1, at: 1_700_000_000_002 },
      { number: 'ff'.repeat(20), reason: holdReason, at: 1_700_000_000_001 },
    ]);
    // Nothing has changed since, but nothing is published yet either.
    expect(await revoked(authority, { now: 1_000_001 })).toHaveLength(3);
    expect(await revoked(randomUUID())).toEqual([]);
  });

  it('has an expired certificate once more after it expired, and no longer, unless it keeps them', async () => {
    const authority = randomUUID();
    // Expires at 9,000.
    await revoke(await certified(authority, '05'), 1, 100);
    const published = async (number: number, thisUpdate: number): Promise<boolean> =>
      opened.store.run('publishCrl', {
        ...{ authority, number, der: Uint8Array.of(1), published_revision: 0, signer: 'key' },
        ...{ signer_since: 1, this_update: thisUpdate, next_update: 5 },
      });
    const entry = [{ number: `${'0'.repeat(38)}05`, reason: 1, at: 100 }];
    expect(await revoked(authority, { keepExpired: false })).toEqual(entry);
    expect(await published(1, 9_000)).toBe(true);
    expect(await revoked(authority, { keepExpired: false })).toEqual(entry);
    expect(await published(2, 9_001)).toBe(true);
    expect(await revoked(authority, { keepExpired: false })).toEqual([]);
    expect(await revoked(authority)).toEqual(entry);
  });

  it('is due though the last one is of a time that is yet to come: the clock was set back', async () => {
    const authority = randomUUID();
    const claimed = async (now: number, minGapMs: number): Promise<boolean> => {
      const request = { authority, now, signer: 'key', keepExpired: true, ...due, minGapMs, endsBefore: 9e15 };
      return (await opened.store.run('claimCrl', request)) !== undefined;
    };
    expect(await claimed(1_000_000, 0)).toBe(true);
    await opened.store.run('publishCrl', {
      ...{ authority, number: 1000, der: Uint8Array.of(1), published_revision: 0, signer: 'key' },
      ...{ signer_since: 1, this_update: 2_000_000, next_update: 3_000_000 },
    });
    expect([await claimed(2_000_000, 10), await claimed(2_000_009, 10), await claimed(2_000_010, 10)]).toEqual([false, false, true]);
    expect(await claimed(1_999_999, 10)).toBe(true);
  });
});
