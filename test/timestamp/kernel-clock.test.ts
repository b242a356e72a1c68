import { expect, test } from 'vitest';
import { native } from '../../src/service/native.ts';
import { kernelClock } from '../../src/timestamp/kernel-clock.ts';

test('a clock that is not to be checked is good', () => {
  expect(kernelClock(undefined).fault()).toBeUndefined();
});

test('a change is reported once', () => {
  const told: (string | undefined)[] = [];
  const clock = kernelClock(0.0001, (fault) => told.push(fault));
  const fault = clock.fault();
  expect(clock.fault()).toBe(fault);
  expect(told).toEqual([fault]);
});

test('the kernel reports whether its clock is synchronised, and its maximum error', () => {
  const errorMicroseconds = native().clockErrorMicroseconds();
  const fault = kernelClock(0.0001).fault();
  if (errorMicroseconds === -1) expect(fault).toBe('the clock is not synchronised');
  else expect(fault).toMatch(/^the clock may be \d+ ms off, more than the 0\.0001 ms allowed$/);
});
