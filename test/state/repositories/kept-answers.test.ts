import { randomUUID } from 'node:crypto';
import { beforeEach, describe, expect, it } from 'vitest';
import type { AnswerToKeep, Claim, NoRoom } from '../../../src/state/repositories/kept-answers.ts';
import { storedKey } from '../rows.ts';
import { storeOfRows } from './store-of-rows.ts';

const opened = storeOfRows();
const now = 1_000_000;
const counter = 'of this instance';
const plenty = { client: 1e9, tenant: 1e9, all: 1e9 };

const claimOf = (changes: Partial<Claim> = {}): Claim => ({
  ...{ id: randomUUID(), fingerprint: Uint8Array.of(1, 2), claim: randomUUID(), until: now + 10, now },
  ...{ client: 'c', counter, room: plenty, sealedBy: 'a key', formerIds: [], ...changes },
});
const claim = async (one: Claim): Promise<unknown> => opened.store.run('claimAnswer', one);
const keep = async ({ id, claim: name }: Claim, changes: Partial<AnswerToKeep> = {}): Promise<void> => {
  const answer = { answer: Uint8Array.of(7), parts: null, bytes: 100, until: now + 50, counter };
  await opened.store.run('keepAnswer', { id, claim: name, ...answer, ...changes });
};
/** A kept answer of its own request. */
async function kept(changes: Partial<AnswerToKeep> = {}, ofClaim: Partial<Claim> = {}): Promise<Claim> {
  const one = claimOf(ofClaim);
  await claim(one);
  await keep(one, changes);
  return one;
}
const bytesOf = (client: string): unknown =>
  opened.rows('select coalesce(sum(bytes), 0) as bytes from kept_bytes where client = ?', client)[0]?.['bytes'];
const addOtp = async (otpId: string): Promise<void> => {
  const secret = { salt: new Uint8Array(16), mac: new Uint8Array(32), seal_salt: null, seal_mac: null };
  const limits = { attempts_left: 3, reserved_until: null, expires_at: now + 900, signatures: null, client: null, ends_at: null };
  const otp = { reference: await storedKey(opened.store), action: 'SIGN', otp_id: otpId, bound_digests: null, ...secret, ...limits };
  await opened.store.run('putOtp', { otp, now });
};

beforeEach(async () => {
  await opened.store.run('endAllClaims');
  await opened.store.run('deleteEndedAnswers', { now: Number.MAX_SAFE_INTEGER, limit: 1000, counter });
  await opened.store.run('deleteLooseParts', { limit: 1000 });
});

describe('a request', () => {
  it('is claimed once, until its claim expires', async () => {
    const first = claimOf();
    expect(await claim(first)).toBe('claimed');
    const second = claimOf({ id: first.id, now: now + 9, until: now + 30 });
    expect(await claim(second)).toMatchObject({ id: first.id, claim: first.claim, fingerprint: Uint8Array.of(1, 2), ends_at: now + 10 });
    expect(await claim({ ...second, now: now + 10 })).toBe('claimed');
    expect(await opened.store.run('releaseClaim', first)).toBe(false);
    await expect(keep(first)).rejects.toMatchObject({ code: 'CLAIM_LOST' });
    await keep(second);
    expect(bytesOf('c')).toBe(100);
  });

  it('is claimed again once it is released, and not released by a claim of another, nor once it is answered', async () => {
    const first = claimOf();
    await claim(first);
    expect(await opened.store.run('releaseClaim', { id: first.id, claim: 'another' })).toBe(false);
    expect(await opened.store.run('releaseClaim', { id: randomUUID(), claim: first.claim })).toBe(false);
    expect(await opened.store.run('releaseClaim', first)).toBe(true);
    const second = claimOf({ id: first.id });
    expect(await claim(second)).toBe('claimed');
    await keep(second);
    expect(await opened.store.run('releaseClaim', second)).toBe(false);
    expect(await claim(claimOf({ id: first.id }))).toMatchObject({ claim: null, answer: Uint8Array.of(7), bytes: 100, ends_at: now + 50 });
  });

  it('that was answered runs anew when its answer has expired, whose bytes are free then', async () => {
    const { id } = await kept();
    expect(await claim(claimOf({ id, now: now + 49 }))).toMatchObject({ claim: null });
    expect(bytesOf('c')).toBe(100);
    expect(await claim(claimOf({ id, now: now + 50 }))).toBe('claimed');
    expect([bytesOf('c'), bytesOf('')]).toEqual([0, 0]);
  });

  it('that was answered with a one-time password runs anew once that is gone', async () => {
    const otp = randomUUID();
    await addOtp(otp);
    const { id } = await kept({ whileOtp: otp });
    expect(await claim(claimOf({ id }))).toMatchObject({ claim: null, while_otp: otp });
    await opened.store.run('dropOtps');
    expect(await claim(claimOf({ id }))).toBe('claimed');
    expect(bytesOf('c')).toBe(0);
  });

  it('keeps its claim while it is renewed', async () => {
    const [renewed, other] = [claimOf(), claimOf()];
    for (const one of [renewed, other]) await claim(one);
    await opened.store.run('renewClaims', { claims: [renewed.claim], until: now + 90 });
    await opened.store.run('renewClaims', { claims: [], until: now + 900 });
    expect(await claim(claimOf({ id: renewed.id, now: now + 20 }))).toMatchObject({ ends_at: now + 90 });
    expect(await claim(claimOf({ id: other.id, now: now + 20 }))).toBe('claimed');
  });

  it('loses its claim, and no answer, when the only process starts again', async () => {
    const running = claimOf();
    await claim(running);
    const { id } = await kept();
    await opened.store.run('endAllClaims');
    await expect(keep(running)).rejects.toMatchObject({ code: 'CLAIM_LOST' });
    expect(await claim(claimOf({ id }))).toMatchObject({ claim: null });
  });
});

describe('the room for answers', () => {
  it('of a client is full when it is reached, and free again when the first of its answers ends', async () => {
    await kept({ until: now + 70 });
    await kept({ until: now + 60 });
    await kept({ until: now + 40 }, { client: 'another' });
    await claim(claimOf({ until: now + 5 }));
    const full: NoRoom = { full: 'client', until: now + 60 };
    const refused = claimOf({ room: { client: 200, tenant: 1e9, all: 300 } });
    expect(await claim(refused)).toEqual(full);
    expect(await opened.store.run('releaseClaim', refused)).toBe(false);
    expect(await claim(claimOf({ room: { client: 201, tenant: 1e9, all: 301 } }))).toBe('claimed');
  });

  it('of all is full when it is reached, and free again when the first of all ends', async () => {
    await kept({ until: now + 60 });
    await kept({ until: now + 40 }, { client: 'another' });
    expect(await claim(claimOf({ room: { client: 101, tenant: 1e9, all: 200 } }))).toEqual({ full: 'all', until: now + 40 });
    expect(await claim(claimOf({ room: { client: 101, tenant: 1e9, all: 201 } }))).toBe('claimed');
  });

  it('is full without any answer if there is none', async () => {
    expect(await claim(claimOf({ room: { client: 0, tenant: 1e9, all: 1 } }))).toEqual({ full: 'client', until: now });
    expect(await claim(claimOf({ room: { client: 1, tenant: 1e9, all: 0 } }))).toEqual({ full: 'all', until: now });
  });

  it('counts answers of both instances, and goes on to do so when one of them is gone', async () => {
    const [mine, theirs, others] = [await kept(), await kept({ counter: 'gone' }), await kept({ counter: 'gone' }, { client: 'd' })];
    expect([bytesOf('c'), bytesOf('d'), bytesOf('')]).toEqual([200, 100, 300]);
    await opened.store.run('gatherKeptBytes', counter);
    expect(opened.rows('select distinct counter from kept_bytes')).toEqual([{ counter }]);
    expect([bytesOf('c'), bytesOf('d'), bytesOf('')]).toEqual([200, 100, 300]);
    expect(await opened.store.run('allKeptBytes')).toBe(300);
    for (const { id } of [mine, theirs, others]) await claim(claimOf({ id, now: now + 50 }));
    expect(await opened.store.run('allKeptBytes')).toBe(0);
  });
});

it('expired answers and claims are deleted, as many as are asked for', async () => {
  await kept({ until: now + 20, counter: 'one' });
  await kept({ until: now + 21 });
  await kept({ until: now + 22 });
  await claim(claimOf({ until: now + 10 }));
  const deleted = async (at: number, limit = 10): Promise<number> => opened.store.run('deleteEndedAnswers', { now: at, limit, counter });
  expect(await deleted(now + 9)).toBe(0);
  expect(await deleted(now + 10)).toBe(1);
  expect([await deleted(now + 21, 1), await deleted(now + 21, 1), await deleted(now + 21, 1)]).toEqual([1, 1, 0]);
  expect(await opened.store.run('allKeptBytes')).toBe(100);
});

it('parts belong to the claim that stored them, and are deleted when neither a claim nor an answer names it', async () => {
  const part = async (id: string, name: string, number: number): Promise<void> =>
    opened.store.run('addAnswerPart', { id, claim: name, part: number, bytes: Uint8Array.of(number) });
  const running = claimOf();
  await claim(running);
  const answered = claimOf();
  await claim(answered);
  for (const number of [0, 1]) await part(answered.id, answered.claim, number);
  await part(running.id, running.claim, 0);
  await keep(answered, { answer: null, parts: answered.claim });
  // Of a claim that was lost, of another request's claim, and of no request.
  await part(answered.id, 'lost', 0);
  await part(running.id, answered.claim, 1);
  await part('nothing', 'lost', 0);
  expect([await opened.store.run('deleteLooseParts', { limit: 2 }), await opened.store.run('deleteLooseParts', { limit: 9 })]).toEqual([
    2, 1,
  ]);
  const find = async (id: string, name: string, number: number): Promise<unknown> =>
    opened.store.run('findAnswerPart', { id, claim: name, part: number });
  expect(await find(answered.id, answered.claim, 1)).toEqual(Uint8Array.of(1));
  expect(await find(running.id, running.claim, 0)).toEqual(Uint8Array.of(0));
  expect([await find(answered.id, 'lost', 0), await find(running.id, running.claim, 1), await find('x', running.claim, 0)]).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});
