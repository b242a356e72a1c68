import { assert, integer, nat, property } from 'fast-check';
import { expect, test } from 'vitest';
import { callClockMs, elapsedMs } from '../../src/token/host/call-clock.ts';

const bits = 2 ** 31;

test('a call that began after the clock was read is no late one', () => {
  expect(elapsedMs(1000, 999)).toBe(-1);
});

test('the time of a call is right wherever the 31 bits of the clock begin again', () => {
  assert(
    property(nat(bits - 1), integer({ min: -60_000, max: 600_000 }), (started, elapsed) => {
      expect(elapsedMs(started, (started + elapsed + bits) % bits)).toBe(elapsed);
    }),
  );
});

test('the clock goes on and is never 0, which stands for no call', () => {
  const first = callClockMs();
  expect(first).toBeGreaterThan(0);
  expect(elapsedMs(first, callClockMs())).toBeGreaterThanOrEqual(0);
});
