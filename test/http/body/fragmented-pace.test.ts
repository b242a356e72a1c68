import { expect, it } from 'vitest';
import { FragmentedPace } from '../../../src/http/body/fragmented-pace.ts';

it('of bodies in small pieces, four are refused in a second, and none waits longer than five', () => {
  let nowMs = 1000;
  const pace = new FragmentedPace(() => nowMs);
  expect([1, 2, 3, 4, 5].map(() => pace.waitMs())).toEqual([0, 250, 500, 750, 1000]);
  nowMs += 1000;
  expect(pace.waitMs()).toBe(250);
  const many = Array.from({ length: 100 }, () => pace.waitMs());
  expect(many.indexOf(5000)).toBe(18);
  expect(Math.max(...many)).toBe(5000);
  nowMs += 60_000;
  expect(pace.waitMs()).toBe(0);
});
