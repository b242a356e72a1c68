/**
 * Yields some of the numbers below `total`, each at most once, spread evenly over it and over each
 * of the dimensions of which it is the product. `count`: how many; no more than there are.
 */
export function* sampled(total: number, count: number): Generator<number, void> {
  let step = Math.max(1, Math.round(total * 0.618));
  while (commonDivisor(step, total) > 1) step += 1;
  for (let taken = 0, at = 0; taken < Math.min(total, count); taken += 1, at = (at + step) % total) yield at;
}

function commonDivisor(one: number, other: number): number {
  return other === 0 ? one : commonDivisor(other, one % other);
}

/** Returns the elements of several lists that a number below the product of their lengths stands for. */
export function elementsAt<T extends readonly (readonly unknown[])[]>(number: number, ...lists: T): { [K in keyof T]: T[K][number] } {
  let rest = number;
  const found = lists.map((list) => {
    const at = rest % list.length;
    rest = Math.floor(rest / list.length);
    return list[at];
  });
  return found as { [K in keyof T]: T[K][number] };
}

/** Returns how many choices there are of one element of each list. */
export function product(lists: readonly (readonly unknown[])[]): number {
  return lists.reduce((size, { length }) => size * length, 1);
}
