/**
 * Characters on which a terminal might act, or that cannot be seen: controls (C0, C1, DEL), formats
 * such as bidirectional overrides and zero-width characters, lone surrogates, private and
 * unassigned code points, and spaces other than U+0020. Labels come from other people.
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/gu;

/**
 * Returns the text with everything unprintable as `\u{…}`, and backslashes doubled so that the two
 * cannot be confused.
 */
export function printable(text: string): string {
  return text.replaceAll('\\', '\\\\').replace(unprintable, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** Returns indented JSON with everything unprintable inside its strings escaped. */
export function printableJson(value: unknown): string {
  // Line feeds come from indentation only: those in strings are already escaped.
  return JSON.stringify(value, undefined, 2).split('\n').map(escapedJson).join('\n');
}

/** Returns the same on one line. */
export function compactJson(value: unknown): string {
  return escapedJson(JSON.stringify(value));
}

function escapedJson(line: string): string {
  return line.replace(unprintable, (character) =>
    Array.from({ length: character.length }, (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`).join(''),
  );
}
