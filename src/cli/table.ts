import { printable } from './printable.ts';

const gap = '  ';

/**
 * Formats columns under their headings, as wide as their widest cell; the last one is not padded.
 * Cells are made printable.
 */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows.map((row) => row.map(printable))];
  const widths = headings.map((_, column) => Math.max(...lines.map((line) => lengthOf(line[column] ?? ''))));
  return lines
    .map((line) => line.map((cell, column) => (column === line.length - 1 ? cell : pad(cell, widths[column] ?? 0))).join(gap))
    .map((line) => `${line.trimEnd()}\n`)
    .join('');
}

/** Formats `name: value` lines with the values in one column. */
export function fields(entries: readonly (readonly [string, string])[]): string {
  const width = Math.max(...entries.map(([name]) => lengthOf(name))) + 1;
  return entries.map(([name, value]) => `${pad(`${name}:`, width)} ${printable(value)}\n`).join('');
}

function pad(cell: string, width: number): string {
  return cell + ' '.repeat(Math.max(0, width - lengthOf(cell)));
}

/** Length in code points: close enough to columns for names. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}
