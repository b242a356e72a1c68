import { describe, expect, it } from 'vitest';
import type { LimitsInForce } from '../../../src/config/limits-in-force.ts';
import { RequestQuota, type ReachedLimit } from '../../../src/http/limits/request-quota.ts';
import { Problem } from '../../../src/http/problem.ts';
import { limitsInForce } from '../../support/limits.ts';

function refusalOf(act: () => unknown): string {
  try {
    act();
  } catch (error) {
    if (error instanceof Problem) return `${error.status} ${error.headers['Retry-After'] ?? ''}`;
    throw error;
  }
  return 'taken';
}

const admissionWith = (limits: object, now = { ms: 0 }, tenants = 1): RequestQuota =>
  quotaOf(() => limitsInForce(limits, { crowd: {}, ...(tenants > 1 ? { alone: {} } : {}) }), now);

/** Clients are of the tenant `crowd`; the name of each is its key's. */
const quotaOf = (limits: () => LimitsInForce, now: { readonly ms: number }, refused: string[] = []): RequestQuota => {
  const registered = (client: string) => ({ tenant: 'crowd', name: client });
  const told = { refused: ({ tenant, scope, limit }: ReachedLimit) => refused.push(`${tenant} ${scope} ${limit}`) };
  return new RequestQuota(limits, { registered, ...told }, () => now.ms);
};

describe('admission', () => {
  it('admits a burst, then the rate, with a correct Retry-After', () => {
    const now = { ms: 0 };
    const admission = admissionWith({ requestsPerSecond: 2, requestsBurst: 3 }, now);
    const ask = (): string => {
      try {
        admission.admit('a').release();
        return 'taken';
      } catch (error) {
        return error instanceof Problem ? `${error.status} ${error.headers['Retry-After'] ?? ''}` : 'error';
      }
    };
    expect([ask(), ask(), ask(), ask()]).toEqual(['taken', 'taken', 'taken', '429 1']);
    now.ms = 499;
    expect(ask()).toBe('429 1');
    now.ms = 1000;
    expect([ask(), ask(), ask()]).toEqual(['taken', 'taken', '429 1']);
    expect(refusalOf(() => admission.admit('b'))).toBe('taken');
  });

  it('counts concurrent requests, for each client and for all', () => {
    const admission = admissionWith({ requestsMax: 3, requestsMaxPerClient: 2 });
    const first = admission.admit('a');
    admission.admit('a');
    expect(refusalOf(() => admission.admit('a'))).toBe('429 1');
    admission.admit('b');
    expect(refusalOf(() => admission.admit('c'))).toBe('503 1');
    first.release();
    first.release();
    expect(refusalOf(() => admission.admit('c'))).toBe('taken');
    expect(refusalOf(() => admission.admit('d'))).toBe('503 1');
  });

  it('counts the bytes of bodies, for a client and for all, and gives them back once', () => {
    const admission = admissionWith({ jsonBodyMaxBytes: 10, bodiesMaxBytesPerClient: 15, bodiesMaxBytes: 20 });
    const first = admission.admit('a');
    first.reserve(10);
    expect(refusalOf(() => admission.admit('a').reserve(6))).toBe('429 1');
    expect(refusalOf(() => admission.admit('b').reserve(11))).toBe('503 1');
    const second = admission.admit('b');
    second.reserve(10);
    first.release();
    first.release();
    expect(refusalOf(() => admission.admit('a').reserve(10))).toBe('taken');
    expect(refusalOf(() => admission.admit('c').reserve(1))).toBe('503 1');
  });

  describe('of several tenants', () => {
    const of = (admission: RequestQuota, tenant: string, client: string) => {
      const ticket = admission.admit(client);
      try {
        ticket.belongsTo(tenant);
        return ticket;
      } catch (error) {
        ticket.release();
        throw error;
      }
    };

    it('leaves to the others half of the requests, however many clients one has', () => {
      const admission = admissionWith({ requestsMax: 6, requestsMaxPerClient: 2 }, { ms: 0 }, 2);
      const first = of(admission, 'crowd', 'a');
      for (const client of ['b', 'c']) of(admission, 'crowd', client);
      expect(refusalOf(() => of(admission, 'crowd', 'd'))).toBe('429 1');
      for (const client of ['e', 'f', 'g']) expect(refusalOf(() => of(admission, 'alone', client))).toBe('taken');
      expect(refusalOf(() => admission.admit('h'))).toBe('503 1');
      first.release();
      first.release();
      expect(refusalOf(() => of(admission, 'crowd', 'd'))).toBe('taken');
    });

    it('leaves to the others half of the memory for bodies', () => {
      const admission = admissionWith({ jsonBodyMaxBytes: 8, bodiesMaxBytesPerClient: 8, bodiesMaxBytes: 20 }, { ms: 0 }, 2);
      const first = of(admission, 'crowd', 'a');
      first.reserve(8);
      expect(refusalOf(() => of(admission, 'crowd', 'b').reserve(3))).toBe('429 1');
      expect(refusalOf(() => of(admission, 'alone', 'c').reserve(8))).toBe('taken');
      first.release();
      expect(refusalOf(() => of(admission, 'crowd', 'b').reserve(8))).toBe('taken');
    });

    it('lets a client have what a client may, and a tenant without others all, also after a reload', () => {
      const two = { crowd: {}, alone: {} };
      let limits = limitsInForce({ requestsMax: 4, requestsMaxPerClient: 4 }, two);
      const admission = quotaOf(() => limits, { ms: 0 });
      for (let count = 0; count < 4; count += 1) expect(refusalOf(() => of(admission, 'crowd', 'a'))).toBe('taken');
      const few = { requestsMax: 12, requestsMaxPerClient: 5 };
      limits = limitsInForce(few, two);
      expect([of(admission, 'crowd', 'b'), of(admission, 'crowd', 'b')].length).toBe(2);
      expect(refusalOf(() => of(admission, 'crowd', 'b'))).toBe('429 1');
      limits = limitsInForce(few, { crowd: {} });
      expect(refusalOf(() => of(admission, 'crowd', 'b'))).toBe('taken');
    });
  });

  describe('with limits of a tenant and of its clients', () => {
    const askFor = (quota: RequestQuota, client: string): string =>
      refusalOf(() => {
        const ticket = quota.admit(client);
        try {
          ticket.belongsTo('crowd');
        } finally {
          ticket.release();
        }
      });
    const taken = (quota: RequestQuota, client: string, times: number): number =>
      Array.from({ length: times }, () => askFor(quota, client)).filter((answer) => answer === 'taken').length;

    it('goes by the name of the client, and by the tenant otherwise, and tells of each refusal', () => {
      const now = { ms: 0 };
      const refused: string[] = [];
      const clients = { batch: { requestsPerSecond: 3 }, slow: { requestsPerSecond: 1, requestsBurst: 1 } };
      const limits = limitsInForce({}, { crowd: { perClient: { requestsPerSecond: 2 }, clients } });
      const quota = quotaOf(() => limits, now, refused);
      expect(['batch', 'slow', 'any', 'other'].map((client) => taken(quota, client, 10))).toEqual([6, 1, 4, 4]);
      now.ms = 1000;
      expect(['batch', 'slow', 'any', 'other'].map((client) => taken(quota, client, 10))).toEqual([3, 1, 2, 2]);
      expect(new Set(refused)).toEqual(new Set(['crowd client requestsPerSecond']));
      expect(refused).toHaveLength(80 - 23);
    });

    it('limits all clients of a tenant together, however many there are', () => {
      const now = { ms: 0 };
      const refused: string[] = [];
      const limits = limitsInForce({}, { crowd: { requestsPerSecond: 10 } });
      const quota = quotaOf(() => limits, now, refused);
      const askAll = (times: number): number =>
        Array.from({ length: 20 }, (_, client) => taken(quota, String(client), times)).reduce((sum, one) => sum + one, 0);
      for (let round = 0; round < 2; round += 1) {
        expect(askAll(5)).toBe(20);
        let later = 0;
        for (const end = now.ms + 60_000; now.ms < end; now.ms += 100) later += askAll(1);
        // Clients that ask for more than there is leave nothing unused, except some of the burst.
        expect([later > 570, later <= 600]).toEqual([true, true]);
        now.ms += 60_000;
      }
      expect(new Set(refused)).toEqual(new Set(['crowd tenant requestsPerSecond']));
    });

    it('leaves to a client what it needs of the rate while another one asks for everything', () => {
      const now = { ms: 0 };
      const limits = limitsInForce({ requestsPerSecond: 1000, requestsBurst: 1000 }, { crowd: { requestsPerSecond: 100 } });
      const quota = quotaOf(() => limits, now);
      let [greedy, modest, refusedOfModest] = [0, 0, 0];
      // A minute, in steps of 10 ms: ten times the rate from one, four tenths of it from the other.
      for (; now.ms < 60_000; now.ms += 10) {
        greedy += taken(quota, 'greedy', 10);
        if (now.ms % 20 === 0) continue;
        const got = taken(quota, 'modest', 1);
        modest += got;
        if (now.ms > 2000) refusedOfModest += 1 - got;
      }
      expect(refusedOfModest).toBe(0);
      expect(modest).toBeGreaterThan(2900);
      expect(greedy + modest).toBeGreaterThan(5900);
      expect(greedy + modest).toBeLessThan(6400);
    });

    it('lets a client alone use the whole burst', () => {
      const limits = limitsInForce({}, { crowd: { requestsPerSecond: 50 } });
      expect(
        taken(
          quotaOf(() => limits, { ms: 0 }),
          'alone',
          200,
        ),
      ).toBe(100);
    });

    it('applies other limits at once, twice, with what was used before', () => {
      const now = { ms: 0 };
      let limits = limitsInForce({}, { crowd: {} });
      const quota = quotaOf(() => limits, now);
      for (let round = 0; round < 2; round += 1) {
        limits = limitsInForce({}, { crowd: { requestsPerSecond: 5, clients: { batch: { requestsPerSecond: 4 } } } });
        now.ms += 60_000;
        expect(taken(quota, 'batch', 50)).toBe(8);
        limits = limitsInForce({}, { crowd: {} });
        now.ms += 60_000;
        expect(taken(quota, 'batch', 250)).toBe(200);
      }
    });
  });

  it('forgets a client that sends nothing', () => {
    const now = { ms: 0 };
    const admission = admissionWith({}, now);
    const held = admission.admit('held');
    for (let index = 0; index < 5000; index += 1) {
      now.ms += 1000;
      admission.admit(`client ${index}`).release();
    }
    held.release();
    expect(refusalOf(() => admission.admit('held'))).toBe('taken');
  });
});
