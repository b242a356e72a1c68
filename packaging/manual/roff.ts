/** Escapes a text for man(7): backslashes, hyphens that are to be copied, and characters that begin a request. */
export function roff(text: string): string {
  return text
    .replaceAll('\\', String.raw`\e`)
    .replaceAll('-', String.raw`\-`)
    .replaceAll('’', String.raw`\(cq`)
    .replaceAll('…', '...')
    .replaceAll('·', String.raw`\(md`)
    .replaceAll('§', String.raw`\(sc`)
    .replaceAll(/^([.'])/gm, String.raw`\&$1`);
}

/** In bold. */
export function bold(text: string): string {
  return String.raw`\fB${roff(text)}\fR`;
}

/** In italics: what the user replaces. */
export function italic(text: string): string {
  return String.raw`\fI${roff(text)}\fR`;
}

/** The flags of an option as in a synopsis, with the value in italics. */
export function flags(text: string): string {
  return text
    .split(' ')
    .map((part) => (part.startsWith('-') ? bold(part) : italic(part.replaceAll(/[<>]/g, ''))))
    .join(' ');
}

interface Page {
  readonly name: string;
  readonly section: number;
  readonly purpose: string;
  /** Day of the last change, such as 2026-03-02. */
  readonly date: string;
  readonly version: string;
  /** Lines of man(7). */
  readonly lines: readonly string[];
  readonly seeAlso: readonly (readonly [name: string, section: number])[];
}

/** Returns a whole page. */
export function manualPage({ name, section, purpose, date, version, lines, seeAlso }: Page): string {
  return [
    `.TH ${roff(name).toUpperCase()} ${section} ${date} "signetd ${version}"`,
    '.SH NAME',
    `${roff(name)} \\- ${roff(purpose)}`,
    ...lines,
    '.SH SEE ALSO',
    seeAlso.map(([other, its], index) => `.BR ${roff(other)} (${its})${index === seeAlso.length - 1 ? '' : ','}`).join('\n'),
    '.PP',
    `The pages in ${italic('/usr/share/doc/signetd')}.`,
    '',
  ].join('\n');
}
