import { describe, expect, it } from 'vitest';
import { LimitsConfig } from '../../../src/config/limits-config.ts';
import { RequestQuota } from '../../../src/http/limits/request-quota.ts';
import { Problem } from '../../../src/http/problem.ts';

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
  new RequestQuota(LimitsConfig.parse(limits), tenants, () => now.ms);

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
      const limits = LimitsConfig.parse({ requestsMax: 4, requestsMaxPerClient: 4 });
      const admission = admissionWith(limits, { ms: 0 }, 2);
      for (let count = 0; count < 4; count += 1) expect(refusalOf(() => of(admission, 'crowd', 'a'))).toBe('taken');
      const few = { ...limits, requestsMax: 12, requestsMaxPerClient: 5 };
      admission.use(few, 2);
      expect([of(admission, 'crowd', 'b'), of(admission, 'crowd', 'b')].length).toBe(2);
      expect(refusalOf(() => of(admission, 'crowd', 'b'))).toBe('429 1');
      admission.use(few, 1);
      expect(refusalOf(() => of(admission, 'crowd', 'b'))).toBe('taken');
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
