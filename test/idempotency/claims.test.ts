import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Claims, KeptAnswersFull } from '../../src/idempotency/claims.ts';
import { RequestSecrets } from '../../src/idempotency/request-secrets.ts';
import type { KeptBytes } from '../../src/state/repositories/kept-bytes.ts';
import type { Step, StepResults } from '../../src/state/step.ts';
import { StoreUnavailable } from '../../src/state/store-unavailable.ts';
import { WorkThreads } from '../../src/threads/work-threads.ts';
import { StoreAround } from '../support/store-around.ts';
import { StoreHere } from '../support/store-here.ts';
import { turnsUntil } from '../support/turns-until.ts';
import { sealingKey } from '../support/sealing-keys.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-claims-'));
const threads = new WorkThreads();
const started = 1_900_000_000_000;
const claimMs = 400;
const plenty = { client: 1e9, tenant: 1e9, all: 1e9 };

/** A store that may be shared or away, and remembers what it was asked. */
class Told extends StoreAround {
  shared = false;
  isAway = false;
  readonly asked: { readonly name: string; readonly argument: unknown }[] = [];

  override get isShared(): boolean {
    return this.shared;
  }

  async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    this.asked.push(...steps.map(({ name, argument }) => ({ name, argument })));
    if (this.isAway) throw new StoreUnavailable('a test');
    return this.store.commit(steps);
  }
}

let store: Told;
const opened: Claims[] = [];
beforeEach(async () => {
  store = new Told(await StoreHere.open(join(directory, `${randomUUID()}.sqlite`)));
  vi.useFakeTimers({ toFake: ['Date', 'setInterval', 'clearInterval'], now: started });
});
afterEach(async () => {
  for (const one of opened.splice(0, Infinity)) one.stop();
  vi.useRealTimers();
  store.isAway = false;
  await store.close();
});
afterAll(async () => {
  await threads.stop();
  rmSync(directory, { recursive: true, force: true });
});

async function open(): Promise<Claims> {
  const claims = await Claims.open(store, claimMs);
  opened.push(claims);
  return claims;
}
const secretsOf = async (client = 'c'): Promise<RequestSecrets> =>
  RequestSecrets.of(
    { client, tenant: 'demo', operation: 'x', idempotencyKey: randomUUID(), body: {}, bodyBytes: 1 },
    sealingKey(async () => Promise.resolve(randomBytes(32))),
    threads,
  );
/** Keeps an answer of so many bytes until a moment. */
async function keep(claims: Claims, bytes: number, until: number): Promise<void> {
  const secrets = await secretsOf();
  await claims.claim(secrets, [], 'claim', plenty);
  const answer = { answer: Uint8Array.of(1), parts: null, bytes, until, counter: claims.counter };
  await store.run('keepAnswer', { id: secrets.id, claim: 'claim', ...answer });
}
const asked = (name: string): number => store.asked.filter((one) => one.name === name).length;

describe('claims of an earlier process', () => {
  it('end at the start of the only one, and remain where others may have them', async () => {
    const secrets = await secretsOf();
    await (await open()).claim(secrets, [], 'first', plenty);
    store.shared = true;
    expect(await (await open()).claim(secrets, [], 'second', plenty)).toMatchObject({ claim: 'first' });
    store.shared = false;
    expect(await (await open()).claim(secrets, [], 'third', plenty)).toBe('claimed');
  });

  it('leave the bytes that were kept', async () => {
    await keep(await open(), 700, started + 1000);
    expect((await open()).keptBytes).toBe(700);
    expect(await store.run('allKeptBytes')).toBe(700);
  });
});

describe('a claim', () => {
  it('is renewed four times in its life while its request runs, and no longer', async () => {
    const claims = await open();
    const gate = Promise.withResolvers<string>();
    const running = claims.whileRenewed('mine', async () => gate.promise);
    vi.advanceTimersByTime(claimMs / 4 - 1);
    expect(asked('renewClaims')).toBe(0);
    vi.advanceTimersByTime(1);
    expect(store.asked.at(-1)).toEqual({ name: 'renewClaims', argument: { claims: ['mine'], until: started + claimMs / 4 + claimMs } });
    vi.advanceTimersByTime(claimMs / 4);
    expect(asked('renewClaims')).toBe(2);
    gate.resolve('ending');
    expect(await running).toBe('ending');
    vi.advanceTimersByTime(claimMs);
    expect(asked('renewClaims')).toBe(2);
    await expect(claims.whileRenewed('other', async () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
    vi.advanceTimersByTime(claimMs);
    expect(asked('renewClaims')).toBe(2);
  });

  it('lives for its time', async () => {
    const claims = await open();
    const secrets = await secretsOf();
    expect(await claims.claim(secrets, [], 'first', plenty)).toBe('claimed');
    vi.setSystemTime(started + claimMs - 1);
    expect(await claims.claim(secrets, [], 'second', plenty)).toMatchObject({ claim: 'first', ends_at: started + claimMs });
    vi.setSystemTime(started + claimMs);
    expect(await claims.claim(secrets, [], 'second', plenty)).toBe('claimed');
    expect([await claims.release(secrets.id, 'first'), await claims.release(secrets.id, 'second')]).toEqual([false, true]);
  });

  it('that finds no room says whose it is and for how long', async () => {
    const claims = await open();
    await keep(claims, 500, started + 9000);
    const refused = async (room: KeptBytes, client = 'c'): Promise<unknown> =>
      claims.claim(await secretsOf(client), [], 'x', room).catch((error: unknown) => error);
    expect(await refused({ client: 500, tenant: 1e9, all: 1e9 })).toBeInstanceOf(KeptAnswersFull);
    expect(await refused({ client: 500, tenant: 1e9, all: 1e9 })).toMatchObject({ whose: 'client', fullMs: 9000 });
    expect(await refused({ client: 501, tenant: 1e9, all: 500 })).toMatchObject({ whose: 'all', fullMs: 9000 });
    expect(await refused({ client: 500, tenant: 1e9, all: 1e9 }, 'another')).toBe('claimed');
    expect(asked('deleteEndedAnswers')).toBe(0);
  });

  it('finds the room of what has expired, and looks for it once', async () => {
    const claims = await open();
    await keep(claims, 500, started + 10);
    vi.setSystemTime(started + 10);
    expect(await claims.claim(await secretsOf(), [], 'x', { client: 500, tenant: 1e9, all: 1e9 })).toBe('claimed');
    expect([asked('deleteEndedAnswers'), claims.keptBytes]).toEqual([1, 0]);
    // There is no room at all.
    await expect(claims.claim(await secretsOf(), [], 'y', { client: 0, tenant: 1e9, all: 1e9 })).rejects.toMatchObject({
      whose: 'client',
      fullMs: 0,
    });
    expect(asked('deleteEndedAnswers')).toBe(2);
  });
});

describe('a sweep', () => {
  it('deletes every minute what has expired, however much, with parts that belong to nothing', async () => {
    const claims = await open();
    for (let answer = 0; answer < 501; answer += 1) await keep(claims, 10, started + 60_000);
    await keep(claims, 7, started + 60_001);
    for (let part = 0; part < 33; part += 1) await store.run('addAnswerPart', { id: 'x', claim: 'y', part, bytes: new Uint8Array() });
    vi.advanceTimersByTime(59_999);
    expect(asked('deleteEndedAnswers')).toBe(0);
    vi.advanceTimersByTime(1);
    await turnsUntil(() => claims.keptBytes === 7);
    expect([asked('deleteEndedAnswers'), asked('deleteLooseParts'), await store.run('deleteLooseParts', { limit: 9 })]).toEqual([2, 2, 0]);
  });

  it('and a renewal that fail are repeated', async () => {
    const claims = await open();
    store.isAway = true;
    const gate = Promise.withResolvers<undefined>();
    const running = claims.whileRenewed('mine', async () => gate.promise);
    vi.advanceTimersByTime(60_000);
    store.isAway = false;
    await keep(claims, 10, started + 130_000);
    vi.advanceTimersByTime(60_000);
    await turnsUntil(() => claims.keptBytes === 10);
    gate.resolve(undefined);
    await running;
    claims.stop();
    const before = store.asked.length;
    vi.advanceTimersByTime(120_000);
    expect(store.asked).toHaveLength(before);
  });
});
