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

const admissionWith = (limits: object, now = { ms: 0 }): RequestQuota => new RequestQuota(LimitsConfig.parse(limits), () => now.ms);

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
