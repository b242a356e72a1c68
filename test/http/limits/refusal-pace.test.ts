import { describe, expect, it } from 'vitest';
import { RefusalPace } from '../../../src/http/limits/refusal-pace.ts';

/** A thousand connections that come back as soon as they are read again, for some seconds: how many refusals that is in each of the last ones. */
function refusalsPerSecond(servedPerSecond: number): number {
  let now = 0;
  const pace = new RefusalPace(() => now);
  const readAgain = Array.from({ length: 1000 }, () => 0);
  let refusals = 0;
  for (now = 0; now < 30_000; now += 10) {
    for (let count = 0; count < servedPerSecond / 100; count += 1) pace.served();
    for (const [index, at] of readAgain.entries()) {
      if (at > now) continue;
      readAgain[index] = now + pace.restMs();
      if (now >= 10_000) refusals += 1;
    }
  }
  return refusals / 20;
}

describe('refusals', () => {
  it('take no more time than their share, however many clients repeat them', () => {
    expect(refusalsPerSecond(3000)).toBeLessThanOrEqual(1600);
    expect(refusalsPerSecond(3000)).toBeGreaterThan(1000);
    expect(refusalsPerSecond(200)).toBeLessThanOrEqual(150);
  });

  it('delay a single client only briefly', () => {
    let now = 0;
    const pace = new RefusalPace(() => now);
    expect(pace.restMs()).toBe(100);
    now = 1000;
    expect(pace.restMs()).toBe(100);
  });
});
