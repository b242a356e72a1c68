import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TokenBucket } from '../../src/service/token-bucket.ts';

function bucketAt(rate: { perSecond: number; capacity: number }): { bucket: TokenBucket; rate: typeof rate; now: { ms: number } } {
  const now = { ms: 0 };
  return {
    bucket: new TokenBucket(
      () => rate,
      () => now.ms,
    ),
    rate,
    now,
  };
}

describe('a token bucket', () => {
  it('gives what it holds at once, and then one token at a time', () => {
    const { bucket, now } = bucketAt({ perSecond: 2, capacity: 3 });
    const takenOf = (count: number): number => Array.from({ length: count }, () => bucket.take()).filter(Boolean).length;
    expect(takenOf(5)).toBe(3);
    now.ms = 499;
    expect(takenOf(5)).toBe(0);
    now.ms = 500;
    expect(takenOf(5)).toBe(1);
    now.ms = 60_000;
    expect(takenOf(5)).toBe(3);
  });

  it('says when the next token is there', () => {
    const { bucket, now } = bucketAt({ perSecond: 0.1, capacity: 1 });
    expect(bucket.waitMs()).toBe(0);
    expect(bucket.retryAfterSeconds()).toBe(1);
    bucket.take();
    expect([bucket.waitMs(), bucket.retryAfterSeconds()]).toEqual([10_000, 10]);
    now.ms = 500;
    expect([bucket.waitMs(), bucket.retryAfterSeconds()]).toEqual([9500, 10]);
  });

  it('lends tokens up to the longest wait, in order', () => {
    const { bucket, now } = bucketAt({ perSecond: 10, capacity: 1 });
    expect(Array.from({ length: 5 }, () => bucket.takeAhead(1, 250))).toEqual([0, 100, 200, undefined, undefined]);
    now.ms = 100;
    expect([bucket.takeAhead(1, 250), bucket.takeAhead(1, 250)]).toEqual([200, undefined]);
    now.ms = 10_000;
    expect(bucket.take()).toBe(true);
    expect(bucket.take()).toBe(false);
  });

  it('that holds nothing makes each taker wait for its own tokens', () => {
    const { bucket, now } = bucketAt({ perSecond: 1000, capacity: 0 });
    expect([bucket.takeAhead(20, 1000), bucket.takeAhead(20, 1000), bucket.take()]).toEqual([20, 40, false]);
    now.ms = 5000;
    expect(bucket.takeAhead(20, 1000)).toBe(20);
  });

  it('uses a rate that has changed from then on', () => {
    const { bucket, rate, now } = bucketAt({ perSecond: 1, capacity: 4 });
    for (let count = 0; count < 4; count += 1) bucket.take();
    rate.perSecond = 100;
    expect(bucket.waitMs()).toBe(10);
    rate.capacity = 1;
    now.ms = 1000;
    expect([bucket.take(), bucket.take()]).toEqual([true, false]);
  });

  it('is as good as new once it is full', () => {
    const { bucket, now } = bucketAt({ perSecond: 1, capacity: 2 });
    expect(bucket.isFull()).toBe(true);
    bucket.take();
    expect(bucket.isFull()).toBe(false);
    now.ms = 1000;
    expect(bucket.isFull()).toBe(true);
  });

  it('gives no more than its capacity and its rate over any time, and no less to one who always asks', () => {
    const step = fc.record({ waitMs: fc.integer({ min: 0, max: 500 }), asks: fc.integer({ min: 0, max: 50 }) });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 100 }),
        fc.integer({ min: 1, max: 50 }),
        fc.array(step, { maxLength: 50 }),
        (perSecond, capacity, steps) => {
          const { bucket, now } = bucketAt({ perSecond, capacity });
          let taken = 0;
          for (const { waitMs, asks } of steps) {
            now.ms += waitMs;
            for (let ask = 0; ask < asks; ask += 1) taken += bucket.take() ? 1 : 0;
            expect(taken).toBeLessThanOrEqual(capacity + (now.ms * perSecond) / 1000 + 1e-3);
          }
          while (bucket.take()) taken += 1;
          expect(bucket.take()).toBe(false);
          // A token that lacks only a rounding error was given, so the next one may lack that much more.
          expect(bucket.waitMs()).toBeLessThanOrEqual((1000 * (1 + 2e-6)) / perSecond);
        },
      ),
    );
  });
});
