/** Functions that the tests of work threads run. */

export function double({ number }: { readonly number: number }): number {
  return 2 * number;
}

/** Never ends by itself. */
export function spin(): void {
  for (;;);
}

export function fail(): void {
  throw new RangeError('out of range');
}
