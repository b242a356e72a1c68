import { createHash } from 'node:crypto';

/** So many of all, the same ones for the same seed however many are asked for. */
export function sample<T extends { readonly id: string }>(all: readonly T[], count: number, seed: string): T[] {
  const place = ({ id }: T): string => createHash('sha256').update(`${seed} ${id}`).digest('hex');
  return all
    .map((one) => ({ one, place: place(one) }))
    .toSorted((left, right) => (left.place < right.place ? -1 : 1))
    .slice(0, count)
    .map(({ one }) => one);
}
