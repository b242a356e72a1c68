import { describe, expect, it } from 'vitest';
import { coveringArray, everySet } from './covering-array.ts';

const factors = {
  size: ['s', 'm', 'l'],
  colour: ['red', 'green', 'blue', 'none'],
  shape: ['ring', 'disc'],
  label: ['a', 'b', 'c'],
} as const;
type Shirt = { readonly [Name in keyof typeof factors]: (typeof factors)[Name][number] };

/** A ring has no colour, and nothing else is without one; a small one has no label c. */
function fits({ size, colour, shape, label }: Partial<Shirt>): boolean {
  if (shape !== undefined && colour !== undefined && (shape === 'ring') !== (colour === 'none')) return false;
  return !(size === 's' && label === 'c');
}

const everyRow = factors.size.flatMap((size) =>
  factors.colour.flatMap((colour) =>
    factors.shape.flatMap((shape) => factors.label.map((label): Shirt => ({ size, colour, shape, label }))),
  ),
);
const possible = everyRow.filter((row) => fits(row));

function tuples(rows: readonly Shirt[], size: number): ReadonlySet<string> {
  return new Set(rows.flatMap((row) => everySet(factors, size).map((set) => set.map((name) => `${name}=${row[name]}`).join(' '))));
}

describe('a covering array', () => {
  it.each([1, 2, 3, 4])('has every tuple of %i options that a row can have, and no row that cannot be', (size) => {
    const rows = coveringArray(factors, { fits, sets: everySet(factors, size) });
    expect(tuples(rows, size)).toEqual(tuples(possible, size));
    expect(rows.filter((row) => !fits(row))).toEqual([]);
    expect(new Set(rows.map((row) => JSON.stringify(row))).size).toBe(rows.length);
    if (size === 4) expect(rows).toHaveLength(possible.length);
    if (size < 3) expect(rows.length).toBeLessThan(possible.length);
  });

  it('is the same for the same seed', () => {
    const made = (seed: number): Shirt[] => coveringArray(factors, { fits, sets: everySet(factors, 2), seed });
    expect(made(7)).toEqual(made(7));
    expect(made(7)).not.toEqual(made(8));
  });
});
