/** Longer words are never a mistyped name. */
const maxLength = 64;

/**
 * Returns the name that a mistyped word probably means: the nearest one, if at most a third of the
 * word is wrong or if they differ only in case and separators; undefined if none is near.
 */
export function nearestName(word: string, names: Iterable<string>): string | undefined {
  if (word.length > maxLength) return undefined;
  let nearest: string | undefined;
  let least = Math.max(1, Math.floor(word.length / 3)) + 1;
  for (const name of names) {
    if (bare(name) === bare(word)) return name;
    const distance = editDistance(word.toLowerCase(), name.toLowerCase());
    if (distance >= least) continue;
    least = distance;
    nearest = name;
  }
  return nearest;
}

function bare(name: string): string {
  return name.toLowerCase().replaceAll(/[-_. ]/g, '');
}

/** Optimal string alignment distance: insertions, deletions, replacements, swaps of neighbours. */
function editDistance(one: string, other: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (let row = 1; row <= one.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= other.length; column += 1) {
      const isSame = one[row - 1] === other[column - 1];
      let cost = Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, (last[column - 1] ?? 0) + (isSame ? 0 : 1));
      const isSwap = row > 1 && column > 1 && one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (isSwap) cost = Math.min(cost, (beforeLast[column - 2] ?? 0) + 1);
      current.push(cost);
    }
    beforeLast = last;
    last = current;
  }
  return last[other.length] ?? 0;
}
