import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenantId, type Caller } from '../../src/clients/caller.ts';
import { whileCalledBy } from '../../src/clients/current-caller.ts';
import { KeyInUse } from '../../src/keys/attempt-slots.ts';
import { SecretPace, SecretsPaced, type PacedAttempt, type PaceLimits } from '../../src/keys/secret-pace.ts';
import type { StateStore } from '../../src/state/state-store.ts';
import type { Step, StepResults } from '../../src/state/step.ts';
import { StoreUnavailable } from '../../src/state/store-unavailable.ts';
import { StoreAround } from '../support/store-around.ts';
import { StoreHere } from '../support/store-here.ts';
import { TellingStore } from '../support/telling-store.ts';

const directory = mkdtempSync(join(tmpdir(), 'signetd-pace-'));
let here: StoreHere;
let count = 0;

beforeAll(async () => {
  here = await StoreHere.open(join(directory, 'state.sqlite'));
});
afterAll(async () => {
  await here.close();
  rmSync(directory, { recursive: true, force: true });
});

/** A state store whose time a test sets, and that may fail. */
class StoreAt extends StoreAround {
  atMs = Date.now();
  fails = false;

  override now(): number {
    return this.atMs;
  }

  override async commit<const S extends readonly Step[]>(steps: S): Promise<StepResults<S>> {
    if (this.fails) throw new StoreUnavailable('it is away');
    return this.store.commit(steps);
  }
}

const limits: PaceLimits = {
  ...{ wrongSecretsBurstPerClient: 3, wrongSecretsPerMinutePerClient: 6 },
  ...{ wrongSecretsBurstPerTenant: 5, wrongSecretsPerMinutePerTenant: 12 },
};
const intervalMs = 10_000;

/** Clients of a new tenant. */
function callers(): readonly [Caller, Caller, Caller] {
  count += 1;
  const tenant = tenantId(`tenant ${count}`);
  const caller = (name: string): Caller => ({ spkiSha256: `${name} ${count}`, name, tenant, roles: new Set() });
  return [caller('a'), caller('b'), caller('c')];
}

const pacing = (store: StateStore, refused: string[] = []): SecretPace =>
  new SecretPace(store, { limits: () => limits, refused: (scope, { name }) => refused.push(`${scope} of ${name}`) });
const taken = async (pace: SecretPace, caller: Caller, waitMs = 60_000): Promise<PacedAttempt> =>
  whileCalledBy(caller, async () => {
    const attempt = pace.enter();
    try {
      await attempt.take(waitMs);
      return attempt;
    } catch (error) {
      attempt.release();
      throw error;
    }
  });
async function guess(pace: SecretPace, caller: Caller): Promise<'compared' | 'refused'> {
  try {
    await (await taken(pace, caller)).wrong();
    return 'compared';
  } catch (error) {
    expect(error).toBeInstanceOf(SecretsPaced);
    return 'refused';
  }
}
const guesses = async (pace: SecretPace, caller: Caller, number: number): Promise<number> =>
  (await Promise.all(Array.from({ length: number }, async () => guess(pace, caller)))).filter((told) => told === 'compared').length;

describe('the pace of wrong secrets', () => {
  it('lets a client have as many as its burst, however many come at once, and then one more in each interval', async () => {
    const [caller] = callers();
    const store = new StoreAt(here);
    const refused: string[] = [];
    const pace = pacing(store, refused);
    expect(await guesses(pace, caller, 20)).toBe(3);
    expect(refused).toEqual(Array.from({ length: 17 }, () => 'client of a'));
    await expect(taken(pace, caller)).rejects.toMatchObject({ scope: 'client', retryAfterSeconds: 10 });
    await expect(whileCalledBy(caller, async () => pace.room(0))).rejects.toThrow(SecretsPaced);
    expect(whileCalledBy(caller, () => pace.hasRoomAtOnce())).toBe(false);
    store.atMs += intervalMs - 1;
    expect(await guess(pace, caller)).toBe('refused');
    store.atMs += 1;
    expect(whileCalledBy(caller, () => pace.hasRoomAtOnce())).toBe(true);
    expect([await guess(pace, caller), await guess(pace, caller)]).toEqual(['compared', 'refused']);
    store.atMs += 3 * intervalMs;
    expect(await guesses(pace, caller, 9)).toBe(3);
  });

  it('counts right secrets for nothing', async () => {
    const [caller] = callers();
    const pace = pacing(here);
    for (let time = 0; time < 20; time += 1) (await taken(pace, caller)).release();
    expect(await guesses(pace, caller, 9)).toBe(3);
  });

  it('holds an attempt back while as many are in flight as may still be wrong, and counts each once', async () => {
    const [caller, other] = callers();
    const pace = pacing(here);
    const [first, second, third] = await Promise.all([taken(pace, caller), taken(pace, caller), taken(pace, caller)]);
    await expect(taken(pace, caller, 0)).rejects.toThrow(KeyInUse);
    // A secret that was right before is not compared either: it could be found among guesses.
    expect(whileCalledBy(caller, () => pace.hasRoomAtOnce())).toBe(false);
    await expect(whileCalledBy(caller, async () => pace.room(0))).rejects.toThrow(KeyInUse);
    expect(whileCalledBy(other, () => pace.hasRoomAtOnce())).toBe(false);
    (await taken(pace, other)).release();
    const fourth = taken(pace, caller);
    await second.wrong();
    await second.wrong();
    second.release();
    first.release();
    first.release();
    await (await fourth).wrong();
    await third.wrong();
    expect(await guess(pace, caller)).toBe('refused');
  });

  it('lets all clients of a tenant together have as many as its burst, and no other tenant notices', async () => {
    const [one, two, three] = callers();
    const [stranger] = callers();
    const refused: string[] = [];
    const pace = pacing(here, refused);
    expect([await guesses(pace, one, 9), await guesses(pace, two, 9), await guesses(pace, three, 9)]).toEqual([3, 2, 0]);
    expect(refused.filter((told) => told.endsWith('c'))).toEqual(Array.from({ length: 9 }, () => 'tenant of c'));
    expect(await guesses(pace, stranger, 9)).toBe(3);
  });

  it('is not begun anew by a restart, or by another instance', async () => {
    const [caller] = callers();
    const [store, otherStore] = [new TellingStore(here), new TellingStore(here)];
    const [pace, other] = [pacing(store), pacing(otherStore)];
    expect([await guess(pace, caller), await guess(other, caller)]).toEqual(['compared', 'compared']);
    store.tell({ table: 'secret_paces', id: `client ${caller.spkiSha256}` });
    expect([await guess(pace, caller), await guess(pace, caller)]).toEqual(['compared', 'refused']);
    otherStore.tell('everything');
    expect(await guess(other, caller)).toBe('refused');
    expect(await guess(pacing(here), caller)).toBe('refused');
  });

  it('is in debt for what several instances let through at once', async () => {
    const [caller] = callers();
    const store = new StoreAt(here);
    const all = [pacing(store), pacing(store)] as const;
    // Both know the row before either counts.
    for (const pace of all) (await taken(pace, caller)).release();
    expect(await Promise.all(all.map(async (pace) => guesses(pace, caller, 9)))).toEqual([3, 3]);
    const next = pacing(store);
    store.atMs += 3 * intervalMs;
    expect(await guess(next, caller)).toBe('refused');
    store.atMs += intervalMs;
    expect(await guess(next, caller)).toBe('compared');
  });

  it('takes what the state store could not take with the next wrong secret', async () => {
    const [caller] = callers();
    const store = new StoreAt(here);
    const pace = pacing(store);
    (await taken(pace, caller)).release();
    store.fails = true;
    await expect((await taken(pace, caller)).wrong()).rejects.toThrow(StoreUnavailable);
    store.fails = false;
    expect(await guess(pace, caller)).toBe('compared');
    expect(await guesses(pacing(store), caller, 9)).toBe(1);
  });

  it('does not block for long after a clock that was ahead', async () => {
    const [caller] = callers();
    const store = new StoreAt(here);
    const pace = pacing(store);
    store.atMs += 10 * 365 * 86_400_000;
    expect(await guesses(pace, caller, 9)).toBe(3);
    const later = new StoreAt(here);
    const next = pacing(later);
    await expect(taken(next, caller)).rejects.toMatchObject({ scope: 'client', retryAfterSeconds: 10 });
    later.atMs += intervalMs;
    expect([await guess(next, caller), await guess(next, caller)]).toEqual(['compared', 'refused']);
    expect(await guess(pacing(later), caller)).toBe('refused');
  });

  it('follows the limits in force, whatever was counted before', async () => {
    const [caller] = callers();
    const store = new StoreAt(here);
    let inForce = limits;
    const pace = new SecretPace(store, { limits: () => inForce });
    expect(await guesses(pace, caller, 9)).toBe(3);
    inForce = { ...limits, wrongSecretsBurstPerClient: 4 };
    expect(await guesses(pace, caller, 9)).toBe(1);
    inForce = { ...limits, wrongSecretsPerMinutePerClient: 600 };
    store.atMs += 200;
    expect(await guesses(pace, caller, 9)).toBe(1);
  });

  it('counts nothing outside of a request', async () => {
    const pace = pacing(here);
    for (let time = 0; time < 9; time += 1) {
      const attempt = pace.enter();
      await attempt.take(0);
      await attempt.wrong();
    }
    await pace.enter().check();
    expect(pace.hasRoomAtOnce()).toBe(true);
  });
});
