import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { dayOfHex, dayOfIso, hexOfDay, isDay, isoOfDay } from '../../../src/twoddoc/zone/days.ts';

test.each([
  ['2000-01-01', '0000'],
  ['2012-11-15', '125E'],
  ['2018-02-06', '19D3'],
  ['2179-06-05', 'FFFE'],
])('%s is %s', (iso, hex) => {
  expect(hexOfDay(new Date(iso))).toBe(hex);
  expect(hexOfDay(new Date(`${iso}T23:59:59.999Z`))).toBe(hex);
  expect(dayOfHex(hex)).toEqual(new Date(iso));
  expect(isoOfDay(new Date(iso))).toBe(iso);
});

test.each(['1999-12-31', '2179-06-06'])('%s is not a day that a header has', (iso) => {
  expect(hexOfDay(new Date(iso))).toBeUndefined();
});

test.each(['FFFF', '125e', '125', '0125E', '', '12 5'])('%o stands for no day', (hex) => {
  expect(dayOfHex(hex)).toBeUndefined();
});

describe('a day', () => {
  it('is one that the calendar of the platform has, too', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 9999 }),
        fc.integer({ min: 0, max: 14 }),
        fc.integer({ min: 0, max: 33 }),
        (year, month, day) => {
          const date = new Date(0);
          date.setUTCFullYear(year, month - 1, day);
          const isReal = date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
          const [y, m, d] = [String(year).padStart(4, '0'), String(month).padStart(2, '0'), String(day).padStart(2, '0')];
          expect(isDay(y, m, d)).toBe(isReal);
          expect(dayOfIso(`${y}-${m}-${d}`)).toEqual(isReal ? date : undefined);
        },
      ),
    );
  });

  it.each(['2012-11-15Z', '12-11-15', '2012/11/15', '0000-01-01', ''])('is not %o', (iso) => {
    expect(dayOfIso(iso)).toBeUndefined();
  });
});
