import { assert, integer, nat, property } from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { callClockMs, elapsedMs } from '../../src/token/host/call-clock.ts';

const bits = 2 ** 31;

test('a call that began after the clock was read is not late', () => {
  expect(elapsedMs(1000, 999)).toBe(-1);
});

test('the time of a call is right wherever the 31 bits of the clock wrap around', () => {
  assert(
    property(nat(bits - 1), integer({ min: -60_000, max: 600_000 }), (started, elapsed) => {
      expect(elapsedMs(started, (started + elapsed + bits) % bits)).toBe(elapsed);
    }),
  );
});

test('the clock advances and is never 0, which means no call', () => {
  const first = callClockMs();
  expect(first).toBeGreaterThan(0);
  expect(elapsedMs(first, callClockMs())).toBeGreaterThanOrEqual(0);
});

afterEach(() => {
  vi.restoreAllMocks();
});

test.each([
  [5, 999_000_000, 5999],
  [5, 999_999, 5000],
  [0, 0, 1],
  [0, 2_000_000, 2],
  [2_147_483, 647_000_000, 2_147_483_647],
  [2_147_483, 648_000_000, 1],
  [2_147_485, 0, 1352],
])('%i s and %i ns of the machine are %i ms: never 0, which would be idle, and in 31 bits', (seconds, nanoseconds, ms) => {
  vi.spyOn(process, 'hrtime').mockReturnValue([seconds, nanoseconds]);
  expect(callClockMs()).toBe(ms);
});
