/** Longer names are compared with none: nobody misspelt one of ours so much. */
const maxCharacters = 64;

/**
 * Returns the one of the known names that somebody who wrote `name` probably meant: the same
 * letters in another case or with other separators, or a few of them missing, added, changed or
 * swapped. Returns undefined if none is close.
 */
export function closestName(name: string, known: Iterable<string>): string | undefined {
  if (name.length > maxCharacters) return undefined;
  const written = name.toLowerCase();
  const candidates = [...known];
  const same = candidates.find((candidate) => candidate.toLowerCase() === written);
  if (same !== undefined) return same;
  let closest: { readonly candidate: string; readonly edits: number } | undefined;
  for (const candidate of candidates) {
    if (withoutSeparators(candidate) === withoutSeparators(name)) return candidate;
    // A third of a short name is another name.
    const editsMax = Math.min(3, Math.floor(candidate.length / 3));
    if (Math.abs(candidate.length - name.length) > editsMax) continue;
    const edits = editsBetween(written, candidate.toLowerCase());
    if (edits <= editsMax && edits < (closest?.edits ?? Infinity)) closest = { candidate, edits };
  }
  return closest?.candidate;
}

function withoutSeparators(name: string): string {
  return name.toLowerCase().replaceAll(/[-_. ]/g, '');
}

/**
 * Number of characters to insert, delete, replace or swap with their neighbour (optimal string
 * alignment distance).
 */
function editsBetween(left: string, right: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= right.length; column += 1) {
      const isSame = left[row - 1] === right[column - 1];
      const isSwapped = row > 1 && column > 1 && left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current.push(
        Math.min(
          (last[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (last[column - 1] ?? 0) + (isSame ? 0 : 1),
          isSwapped ? (beforeLast[column - 2] ?? 0) + 1 : Infinity,
        ),
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[right.length] ?? 0;
}

/**
 * Returns a name of a caller for a message: shortened, and with escapes for all but printable
 * ASCII.
 */
export function quotedName(name: string): string {
  const shown = name.length <= maxCharacters ? name : `${name.slice(0, maxCharacters)}…`;
  return JSON.stringify(shown).replaceAll(/[^\x20-\x7e]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
