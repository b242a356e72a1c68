/**
 * What a terminal might act on, or an eye not see: controls (C0, C1, DEL), formats such as bidirectional overrides and zero-width characters,
 * lone surrogates, private and unassigned code points, and spaces other than the usual one. Labels are other people's words.
 */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\p{Zl}\p{Zp}\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]/gu;

/** The text with everything unprintable written as `\u{…}`, and a backslash doubled so that the two cannot be confused. */
export function printable(text: string): string {
  return text.replaceAll('\\', '\\\\').replace(unprintable, (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`);
}

/** JSON, indented, with everything unprintable inside its strings escaped as JSON does it. */
export function printableJson(value: unknown): string {
  // Line feeds are the indentation's: those of strings are escaped already.
  const escape = (line: string): string =>
    line.replace(unprintable, (character) =>
      Array.from({ length: character.length }, (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`).join(''),
    );
  return JSON.stringify(value, undefined, 2).split('\n').map(escape).join('\n');
}
