import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { SessionLimits } from '../../../src/state/repositories/signature-sessions.ts';
import type { SignatureSessionRow } from '../../../src/state/tables/signature-sessions.ts';
import { storeOfRows } from './store-of-rows.ts';

const opened = storeOfRows();
const now = 1_000_000;
const wide = { openMaxPerClient: 100, openMaxPerTenant: 100, spoolMaxBytes: 1e9, spoolMaxBytesPerTenant: 1e9 };

const row = (changes: Partial<SignatureSessionRow> = {}): SignatureSessionRow => ({
  ...{ id: randomUUID(), sealed_by: null, tenant: 'demo', client: 'c', stored: 1, spooled_bytes: 0, ends_at: now + 10, ...changes },
});
const add = async (session: SignatureSessionRow, limits: Partial<SessionLimits> = {}, at = now, parts = 0): Promise<unknown> =>
  opened.store.run('addSession', {
    ...{ session, limits: { ...wide, ...limits }, now: at },
    parts: Array.from({ length: parts }, (_, part) => ({ id: session.id, item: 1, part, bytes: Uint8Array.of(part) })),
  });
async function added(changes: Partial<SignatureSessionRow> = {}, parts = 0): Promise<SignatureSessionRow> {
  const session = row(changes);
  expect(await add(session, {}, now, parts)).toBeUndefined();
  return session;
}
const finds = async ({ id }: { readonly id: string }, at = now): Promise<boolean> =>
  (await opened.store.run('findSession', { id, now: at })) !== undefined;
const partsOf = ({ id }: { readonly id: string }): number =>
  opened.rows('select part from signature_session_parts where id = ?', id).length;

beforeEach(async () => {
  await opened.store.run('deleteEndedSessions', { now: Number.MAX_SAFE_INTEGER, limit: 1000 });
  await opened.store.run('deleteLooseSessionParts', { limit: 1000 });
});

describe('the number of open sessions', () => {
  it('of a client is limited, in its tenant', async () => {
    await added();
    await added();
    await added({ client: 'd' });
    await added({ tenant: 'other' });
    expect(await add(row(), { openMaxPerClient: 2 })).toBe('openMaxPerClient');
    expect(await add(row(), { openMaxPerClient: 3 })).toBeUndefined();
  });

  it('of a tenant is limited', async () => {
    await added();
    await added({ client: 'd' });
    await added({ tenant: 'other' });
    const refused = row();
    expect(await add(refused, { openMaxPerTenant: 2 }, now, 1)).toBe('openMaxPerTenant');
    expect([await finds(refused), partsOf(refused)]).toEqual([false, 0]);
    expect(await add(row(), { openMaxPerTenant: 3 })).toBeUndefined();
  });

  it('does not count those that have ended, and counts those that are being stored', async () => {
    await added({ ends_at: now + 5 });
    await added({ stored: 0 });
    expect(await add(row(), { openMaxPerClient: 2, openMaxPerTenant: 2 }, now + 4)).toBe('openMaxPerClient');
    expect(await add(row(), { openMaxPerClient: 2, openMaxPerTenant: 2 }, now + 5)).toBeUndefined();
  });
});

describe('the content of open sessions', () => {
  it('is limited for a tenant and in all, to the last byte', async () => {
    await added({ spooled_bytes: 60 });
    await added({ spooled_bytes: 30, tenant: 'other' });
    const more = async (bytes: number, limits: Partial<SessionLimits>): Promise<unknown> => add(row({ spooled_bytes: bytes }), limits);
    expect(await more(41, { spoolMaxBytesPerTenant: 100 })).toBe('spoolMaxBytesPerTenant');
    expect(await more(41, { spoolMaxBytes: 130 })).toBe('spoolMaxBytes');
    // Without content it is no matter of the limits.
    expect(await more(0, { spoolMaxBytesPerTenant: 1, spoolMaxBytes: 1 })).toBeUndefined();
    expect(await more(40, { spoolMaxBytesPerTenant: 100, spoolMaxBytes: 130 })).toBeUndefined();
    expect(await more(1, { spoolMaxBytesPerTenant: 100, spoolMaxBytes: 131 })).toBe('spoolMaxBytesPerTenant');
  });

  it('does not count of those that have ended', async () => {
    await added({ spooled_bytes: 60, ends_at: now + 5 });
    const more = async (at: number): Promise<unknown> => add(row({ spooled_bytes: 50 }), { spoolMaxBytesPerTenant: 100 }, at);
    expect(await more(now + 4)).toBe('spoolMaxBytesPerTenant');
    expect(await more(now + 5)).toBeUndefined();
  });

  it('is told by tenant', async () => {
    await added({ spooled_bytes: 60 });
    await added({ spooled_bytes: 3, ends_at: now + 5 });
    await added({ spooled_bytes: 7, tenant: 'other' });
    const shares = async (at: number): Promise<unknown> =>
      (await opened.store.run('sessionShares', at)).toSorted((one, other) => (one.tenant < other.tenant ? -1 : 1));
    const other = { tenant: 'other', sessions: 1, bytes: 7 };
    expect(await shares(now + 4)).toEqual([{ tenant: 'demo', sessions: 2, bytes: 63 }, other]);
    expect(await shares(now + 5)).toEqual([{ tenant: 'demo', sessions: 1, bytes: 60 }, other]);
  });
});

describe('a session', () => {
  it('is found once it is stored, up to its end', async () => {
    const session = await added({ stored: 0, ends_at: now + 5 });
    expect(await finds(session)).toBe(false);
    await expect(opened.store.run('closeSession', { id: session.id, now })).rejects.toMatchObject({ code: 'SESSION_ENDED' });
    expect(await opened.store.run('sessionStored', { id: session.id, endsAt: now + 50 })).toBe(true);
    expect([await finds(session, now + 49), await finds(session, now + 50)]).toEqual([true, false]);
    expect(await opened.store.run('sessionStored', { id: randomUUID(), endsAt: now })).toBe(false);
  });

  it('is closed once, before its end, and a small one takes its parts with it', async () => {
    const close = async ({ id }: SignatureSessionRow, at = now): Promise<void> => opened.store.run('closeSession', { id, now: at });
    const ended = { code: 'SESSION_ENDED' };
    const [small, large, other] = [await added({}, 2), await added({ spooled_bytes: 5 }, 2), await added({}, 1)];
    await expect(close(small, now + 10)).rejects.toMatchObject(ended);
    expect(partsOf(small)).toBe(2);
    for (const session of [small, large]) {
      await close(session, now + 9);
      expect(await finds(session)).toBe(false);
      await expect(close(session)).rejects.toMatchObject(ended);
    }
    expect([partsOf(small), partsOf(large), partsOf(other)]).toEqual([0, 2, 1]);
    expect(await opened.store.run('deleteLooseSessionParts', { limit: 1 })).toBe(1);
    expect(await opened.store.run('deleteLooseSessionParts', { limit: 9 })).toBe(1);
    expect([partsOf(large), partsOf(other)]).toEqual([0, 1]);
  });

  it('has the parts that were added, each in its place', async () => {
    const session = await added({}, 2);
    await opened.store.run('addSessionPart', { id: session.id, item: 2, part: 1, bytes: Uint8Array.of(9) });
    const part = async (item: number, number: number, id = session.id): Promise<unknown> =>
      opened.store.run('findSessionPart', { id, item, part: number });
    expect([await part(1, 0), await part(1, 1), await part(2, 1)]).toEqual([Uint8Array.of(0), Uint8Array.of(1), Uint8Array.of(9)]);
    expect([await part(2, 0), await part(3, 1), await part(2, 1, 'another')]).toEqual([undefined, undefined, undefined]);
  });

  it('is dropped alone', async () => {
    const [one, other] = [await added(), await added()];
    await opened.store.run('dropSession', one.id);
    expect([await finds(one), await finds(other)]).toEqual([false, true]);
  });
});

it('sessions that have ended are deleted, as many as are asked for', async () => {
  for (const endsAt of [1, 2, 3, 9]) await added({ ends_at: now + endsAt });
  const deleted = async (at: number, limit: number): Promise<number> => opened.store.run('deleteEndedSessions', { now: at, limit });
  expect([await deleted(now, 9), await deleted(now + 3, 2), await deleted(now + 3, 9)]).toEqual([0, 2, 1]);
});

it('complete sessions are counted by tenant, with their first and their last end', async () => {
  await added({ ends_at: now + 3 });
  await added({ ends_at: now + 7 });
  await added({ ends_at: now + 5 });
  await added({ ends_at: now + 90, stored: 0 });
  await added({ ends_at: now + 4, tenant: 'another' });
  expect(await opened.store.run('countSessions', { now: now + 3 })).toEqual([
    { tenant: 'another', count: 1, firstEnds: now + 4, lastEnds: now + 4 },
    { tenant: 'demo', count: 2, firstEnds: now + 5, lastEnds: now + 7 },
  ]);
});
